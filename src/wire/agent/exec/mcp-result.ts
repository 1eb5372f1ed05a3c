import { create } from "@bufbuild/protobuf";
import type { ImagePart, TextPart, ToolMessage } from "../../../core/turn.ts";
import { type McpResult, McpResultSchema, type McpToolResultContentItem } from "../../../gen/agent/v1/exec_mcp_pb.ts";
import type { McpToolResult } from "../../../gen/agent/v1/tool_call_pb.ts";
import { problemText } from "./problem-text.ts";

export type McpOutcome = Pick<ToolMessage, "content" | "isError">;

/** Encodes a tool's result. A failed one is sent as a success with `is_error`, so that the model reads its text. */
export function mcpResultOf({ content, isError }: McpOutcome): McpResult {
  return create(McpResultSchema, {
    result: {
      case: "success",
      value: {
        isError,
        content: content.map((part) =>
          part.type === "text"
            ? { content: { case: "text" as const, value: { text: part.text } } }
            : { content: { case: "image" as const, value: { data: part.data, mimeType: part.mediaType } } },
        ),
      },
    },
  });
}

/** Reads a tool's result, from an exec reply or from a state. Errors and rejections become text with `isError`. */
export function readMcpResult(result: McpResult["result"] | McpToolResult["result"]): McpOutcome {
  if (result.case === "success") {
    return { content: result.value.content.flatMap(readItem), isError: result.value.isError };
  }
  const text = result.case === "error" ? result.value.error : problemText(result);
  return { content: [{ type: "text", text }], isError: true };
}

function readItem({ content }: McpToolResultContentItem): (TextPart | ImagePart)[] {
  switch (content.case) {
    case "text":
      return [{ type: "text", text: content.value.text }];
    case "image":
      return [{ type: "image", data: content.value.data, mediaType: content.value.mimeType }];
    default:
      return [];
  }
}
