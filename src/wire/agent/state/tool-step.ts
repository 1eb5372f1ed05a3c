import { spellToolName } from "../../../core/spell-tool-name.ts";
import type { ToolCallPart, ToolMessage } from "../../../core/turn.ts";
import {
  McpArgsSchema,
  McpToolResultContentItem_ImageSchema,
  McpToolResultContentItem_TextSchema,
  McpToolResultContentItemSchema,
} from "../../../gen/agent/v1/exec_mcp_pb.ts";
import {
  ConversationStepSchema,
  McpToolCallSchema,
  McpToolResult_SuccessSchema,
  McpToolResultSchema,
  ToolCallSchema,
} from "../../../gen/agent/v1/tool_call_pb.ts";
import {
  bytesField,
  encodeFields,
  type Field,
  messageField,
  numberField,
  serialized,
  textField,
} from "../encode-fields.ts";
import { encodeValueMap } from "../encode-value.ts";
import { PROVIDER, qualifiedToolName } from "../exec/tool-names.ts";

/** A call of an earlier answer, with its result, as a serialized `ConversationStep`. */
export function encodeToolStep(call: ToolCallPart, result: ToolMessage | undefined): Uint8Array {
  const { args, result: outcome } = McpToolCallSchema.field;
  const { toolCallId, mcpToolCall } = ToolCallSchema.field;
  const done = result
    ? [messageField(outcome, messageField(McpToolResultSchema.field.success, ...resultFields(result)))]
    : [];
  return encodeFields(
    messageField(
      ConversationStepSchema.field.toolCall,
      textField(toolCallId, call.id),
      messageField(mcpToolCall, messageField(args, ...argFields(call)), ...done),
    ),
  );
}

function argFields({ id, name, args }: ToolCallPart): readonly Field[] {
  const { field } = McpArgsSchema;
  return [
    textField(field.name, qualifiedToolName(name)),
    serialized(encodeValueMap(field.args.number, args)),
    textField(field.toolCallId, id),
    textField(field.providerIdentifier, PROVIDER),
    textField(field.toolName, spellToolName(name)),
  ];
}

function resultFields({ content, isError }: ToolMessage): readonly Field[] {
  const { content: item, isError: failed } = McpToolResult_SuccessSchema.field;
  return [...content.map((part) => messageField(item, itemField(part))), ...(isError ? [numberField(failed, 1)] : [])];
}

function itemField(part: ToolMessage["content"][number]): Field {
  const { text, image } = McpToolResultContentItemSchema.field;
  if (part.type === "text")
    return messageField(text, textField(McpToolResultContentItem_TextSchema.field.text, part.text));
  const { field } = McpToolResultContentItem_ImageSchema;
  return messageField(image, bytesField(field.data, part.data), textField(field.mimeType, part.mediaType));
}
