import { create, fromJson, type JsonObject as WireJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject, JsonValue } from "../../../core/turn.ts";
import { type McpArgs, McpArgsSchema, type McpResult } from "../../../gen/agent/v1/exec_mcp_pb.ts";
import type { McpToolDefinition } from "../../../gen/agent/v1/mcp_pb.ts";
import { McpToolResultSchema, type ToolCall, ToolCallSchema } from "../../../gen/agent/v1/tool_call_pb.ts";

/** Reads the arguments of a call. The wire has only doubles; whole ones become integers. */
export const argsOf = ({ args }: McpArgs): JsonObject => jsonObjectOf(args);

const jsonObjectOf = (fields: Readonly<Record<string, Value>>): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, jsonOf(value)]));

/** Unlike `toJson` it takes all that the wire can carry: a value of no kind and numbers that JSON lacks are null. */
function jsonOf({ kind }: Value): JsonValue {
  switch (kind.case) {
    case "structValue":
      return jsonObjectOf(kind.value.fields);
    case "listValue":
      return kind.value.values.map(jsonOf);
    case "numberValue":
      return Number.isFinite(kind.value) ? kind.value : null;
    case "stringValue":
    case "boolValue":
      return kind.value;
    case "nullValue":
    case undefined:
      return null;
  }
}

/** Makes the exec request for a call of one of the client's tools. */
export function mcpArgs(tool: McpToolDefinition, args: WireJson, callId: string): McpArgs {
  return create(McpArgsSchema, {
    name: tool.name,
    toolName: tool.toolName || tool.name,
    providerIdentifier: tool.providerIdentifier,
    toolCallId: callId,
    args: Object.fromEntries(Object.entries(args).map(([key, value]) => [key, fromJson(ValueSchema, value)])),
  });
}

/** Returns the call for updates and the state, with its result if there is one. */
export function mcpDisplay(args: McpArgs, result?: McpResult["result"], error?: string): ToolCall {
  return create(ToolCallSchema, {
    toolCallId: args.toolCallId,
    tool: {
      case: "mcpToolCall",
      value: {
        args,
        ...(result || error !== undefined
          ? { result: create(McpToolResultSchema, { result: shownResult(result, error) }) }
          : {}),
      },
    },
  });
}

function shownResult(result: McpResult["result"] | undefined, error = "") {
  switch (result?.case) {
    case "success": {
      const { content, isError } = result.value;
      return { case: "success" as const, value: { content, isError } };
    }
    case "rejected": {
      const { reason, isReadonly } = result.value;
      return { case: "rejected" as const, value: { reason, isReadonly } };
    }
    case "error":
      return { case: "error" as const, value: { error: result.value.error } };
    default:
      return { case: "error" as const, value: { error: error || (result?.case ?? "no result") } };
  }
}
