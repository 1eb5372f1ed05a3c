import { create, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject, ToolMessage } from "../../../core/turn.ts";
import { type McpArgs, type McpResult, McpResultSchema } from "../../../gen/agent/v1/exec_mcp_pb.ts";

/** Arguments as JSON: the wire has only doubles, which print as integers where they are. */
export function argsOf({ args }: McpArgs): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => [key, toJson(ValueSchema, value)]),
  ) as JsonObject;
}

/** A tool's result as the wire has it. One that failed is still a result: the model shall see what it says. */
export function wireToolResult({ content, isError }: Pick<ToolMessage, "content" | "isError">): McpResult {
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
