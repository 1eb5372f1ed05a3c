import { toJson } from "@bufbuild/protobuf";
import { spellToolName } from "../../../core/spell-tool-name.ts";
import type { JsonObject, Message, ToolCallPart, ToolMessage } from "../../../core/turn.ts";
import {
  McpArgsSchema,
  McpToolResultContentItem_ImageSchema,
  McpToolResultContentItem_TextSchema,
  McpToolResultContentItemSchema,
} from "../../../gen/agent/v1/exec_mcp_pb.ts";
import {
  type ConversationStep,
  ConversationStepSchema,
  McpToolCallSchema,
  McpToolResult_SuccessSchema,
  McpToolResultSchema,
  type ToolCall,
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
import { argsOf } from "../exec/mcp-call.ts";
import { type McpOutcome, readMcpResult } from "../exec/mcp-result.ts";
import { PROVIDER, qualifiedToolName } from "../exec/tool-names.ts";

/** Serializes a call, with its result, as a `ConversationStep`. */
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

/** Reads a `ConversationStep`: a call becomes a message with the call and, if it has ended, one with its result. */
export function readStep({ message }: ConversationStep): readonly Message[] {
  switch (message.case) {
    case "assistantMessage":
      return [{ role: "assistant", content: [{ type: "text", text: message.value.text }] }];
    case "thinkingMessage":
      return [{ role: "assistant", content: [{ type: "thinking", text: message.value.text, signature: undefined }] }];
    case "toolCall": {
      const { call, result } = readToolCall(message.value);
      const said: Message = { role: "assistant", content: [call] };
      return result ? [said, { role: "tool", callId: call.id, ...result }] : [said];
    }
    default:
      return [];
  }
}

function readToolCall(toolCall: ToolCall): { readonly call: ToolCallPart; readonly result: McpOutcome | undefined } {
  const { tool } = toolCall;
  if (tool.case === "mcpToolCall") {
    const { args, result } = tool.value;
    const id = args?.toolCallId ?? "";
    const call = { id, name: args?.toolName || args?.name || "", args: args ? argsOf(args) : {} };
    return { call: { type: "tool-call", ...call }, result: result?.result.case && readMcpResult(result.result) };
  }
  const json = toJson(ToolCallSchema, toolCall) as Record<string, { args?: JsonObject; result?: JsonObject }>;
  const member = tool.case === undefined ? undefined : json[tool.case];
  const name = tool.case?.replace(/ToolCall$/, "") ?? "unknown";
  const text = member?.result && JSON.stringify(member.result);
  return {
    call: { type: "tool-call", id: toolCall.toolCallId ?? "", name, args: member?.args ?? {} },
    result: text === undefined ? undefined : { content: [{ type: "text", text }], isError: false },
  };
}
