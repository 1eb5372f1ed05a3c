import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type McpArgs, McpArgsSchema, type McpResult } from "../../gen/agent/v1/exec_mcp_pb.ts";
import type { McpToolDefinition } from "../../gen/agent/v1/mcp_pb.ts";
import { McpToolResultSchema, type ToolCall, ToolCallSchema } from "../../gen/agent/v1/tool_call_pb.ts";

/** The tools a client offers, from all the places where it may list them. */
export class OfferedTools {
  readonly #byName = new Map<string, McpToolDefinition>();
  readonly names: readonly string[];

  constructor(definitions: readonly McpToolDefinition[]) {
    const names = new Set<string>();
    for (const definition of definitions) {
      const name = definition.toolName || definition.name;
      if (names.has(name)) continue;
      names.add(name);
      this.#byName.set(name, definition);
    }
    // By their other name, where that is nobody's first.
    for (const definition of definitions) {
      if (!this.#byName.has(definition.name)) this.#byName.set(definition.name, definition);
    }
    this.names = [...names];
  }

  find(name: string): McpToolDefinition | undefined {
    return this.#byName.get(name);
  }

  /** Whether two names mean the same tool. */
  isSame(a: string, b: string): boolean {
    const tool = this.find(a);
    // Histories also hold names as the model saw them, with a prefix such as `mcp_provider_`.
    return a === b || (tool !== undefined && (tool === this.find(b) || /^.+[_-]$/.test(prefixOf(b, a) ?? "")));
  }
}

export function mcpArgs(tool: McpToolDefinition, args: JsonObject, callId: string): McpArgs {
  return create(McpArgsSchema, {
    name: tool.name,
    toolName: tool.toolName || tool.name,
    providerIdentifier: tool.providerIdentifier,
    toolCallId: callId,
    args: Object.fromEntries(Object.entries(args).map(([key, value]) => [key, fromJson(ValueSchema, value)])),
  });
}

/** The call as display updates and the history show it, with its result once there is one. */
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

const prefixOf = (name: string, suffix: string): string | undefined =>
  name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined;
