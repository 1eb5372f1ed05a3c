import { create, toBinary } from "@bufbuild/protobuf";
import type { ToolCallPart, ToolMessage } from "../../core/turn.ts";
import {
  McpArgsSchema,
  McpToolResultContentItem_ImageSchema,
  McpToolResultContentItem_TextSchema,
  McpToolResultContentItemSchema,
} from "../../gen/agent/v1/exec_mcp_pb.ts";
import {
  ConversationStepSchema,
  McpToolCallSchema,
  McpToolResult_SuccessSchema,
  McpToolResultSchema,
  ToolCallSchema,
} from "../../gen/agent/v1/tool_call_pb.ts";
import { bytesField, joinFields, numberField, textField } from "./encode-fields.ts";
import { encodeValueMap } from "./encode-value.ts";
import { PROVIDER, qualifiedToolName, wireToolName } from "./tool-names.ts";

/** A call of an earlier answer, with its result, as a serialized `ConversationStep`. */
export function encodeToolStep(call: ToolCallPart, result: ToolMessage | undefined): Uint8Array {
  const { args, result: outcome } = McpToolCallSchema.field;
  const mcp = joinFields(
    bytesField(args, encodeArgs(call)),
    ...(result ? [bytesField(outcome, bytesField(McpToolResultSchema.field.success, encodeResult(result)))] : []),
  );
  const { toolCallId, mcpToolCall } = ToolCallSchema.field;
  const step = joinFields(textField(toolCallId, call.id), bytesField(mcpToolCall, mcp));
  return bytesField(ConversationStepSchema.field.toolCall, step);
}

function encodeArgs({ id, name, args }: ToolCallPart): Uint8Array {
  const { field } = McpArgsSchema;
  return joinFields(
    textField(field.name, qualifiedToolName(name)),
    encodeValueMap(field.args.number, args),
    textField(field.toolCallId, id),
    textField(field.providerIdentifier, PROVIDER),
    textField(field.toolName, wireToolName(name)),
  );
}

function encodeResult({ content, isError }: ToolMessage): Uint8Array {
  const { content: item, isError: failed } = McpToolResult_SuccessSchema.field;
  return joinFields(
    ...content.map((part) => bytesField(item, encodeItem(part))),
    ...(isError ? [numberField(failed, 1)] : []),
  );
}

function encodeItem(part: ToolMessage["content"][number]): Uint8Array {
  const { text, image } = McpToolResultContentItemSchema.field;
  if (part.type === "text")
    return bytesField(text, textField(McpToolResultContentItem_TextSchema.field.text, part.text));
  const picture = create(McpToolResultContentItem_ImageSchema, { data: part.data, mimeType: part.mediaType });
  return bytesField(image, toBinary(McpToolResultContentItem_ImageSchema, picture));
}
