import { create, fromJson, toJson, type JsonObject as WireJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject, ToolDefinition, ToolMessage } from "../../core/turn.ts";
import { type McpArgs, type McpResult, McpResultSchema } from "../../gen/agent/v1/exec_mcp_pb.ts";
import { type McpToolDefinition, McpToolDefinitionSchema } from "../../gen/agent/v1/mcp_pb.ts";
import { flattenSchema } from "./flatten-schema.ts";

/** The label under which the client's tools are offered. */
export const PROVIDER = "excursor";

/** The unique name under which a tool is offered. */
export const wireToolName = (name: string): string => `${PROVIDER}-${name}`;

/** A client's tool as the wire offers it. */
export function wireTool({ name, description, schema }: ToolDefinition): McpToolDefinition {
  return create(McpToolDefinitionSchema, {
    name: wireToolName(name),
    toolName: name,
    providerIdentifier: PROVIDER,
    description,
    inputSchema: fromJson(ValueSchema, flattenSchema(schema) as WireJson),
  });
}

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
