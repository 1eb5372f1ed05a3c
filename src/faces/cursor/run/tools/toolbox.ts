import { spellToolName } from "../../../../core/spell-tool-name.ts";
import type { ToolDefinition } from "../../../../core/turn.ts";
import type { McpToolDefinition } from "../../../../gen/agent/v1/mcp_pb.ts";
import type { RequestContext } from "../../../../gen/agent/v1/request_context_pb.ts";
import type { RunMode } from "../mode.ts";
import { editTool } from "./edit.ts";
import { deleteTool, diagnosticsTool, fetchTool, grepTool, lsTool } from "./files.ts";
import { globTool } from "./glob.ts";
import { mcpTool } from "./mcp.ts";
import { readTool } from "./read.ts";
import { shellTool } from "./shell.ts";
import { todoTool } from "./todo.ts";
import type { CursorTool } from "./tool.ts";
import { writeTool } from "./write.ts";

const ALWAYS: readonly CursorTool[] = [
  shellTool,
  readTool,
  writeTool,
  editTool,
  deleteTool,
  lsTool,
  grepTool,
  globTool,
  todoTool,
];

/** The client's lists of tools, as its headers give them, and the mode of the run. The client itself enforces neither. */
export interface ToolLists {
  /** Undefined: all. Empty: none. */
  readonly allowed: string | undefined;
  readonly excluded: string | undefined;
  /** Not `agent`: no native tool that changes something. What the tools of servers and programs do is not known. */
  readonly mode: RunMode;
}

/** The tools of one run: those that the protocol has execs for and those that the client offers, as its lists allow. */
export class RunTools {
  readonly #byName = new Map<string, CursorTool>();

  constructor(offered: readonly McpToolDefinition[], contexts: readonly RequestContext[], lists: ToolLists) {
    const may = permitted(lists);
    const named = namesOf(lists.allowed);
    const isNamed = ({ listedAs }: CursorTool) => listedAs.some((name) => named?.has(name));
    const native = [
      ...ALWAYS,
      ...(contexts.some((context) => context.readLintsEnabled) || isNamed(diagnosticsTool) ? [diagnosticsTool] : []),
      ...(contexts.some((context) => context.webFetchEnabled) || isNamed(fetchTool) ? [fetchTool] : []),
    ];
    const isInMode = (tool: CursorTool) => lists.mode === "agent" || tool.isReadOnly;
    for (const tool of native) if (may(tool.listedAs) && isInMode(tool)) this.#byName.set(tool.definition.name, tool);
    if (!may(["mcp_tool_call"])) return;
    const seen = new Set<string>();
    for (const definition of offered) {
      const id = `${definition.providerIdentifier} ${definition.toolName || definition.name}`;
      if (seen.has(id)) continue;
      seen.add(id);
      const plain = spellToolName(definition.toolName || definition.name);
      const name = this.#byName.has(plain) ? spellToolName(definition.name) : plain;
      if (!this.#byName.has(name)) this.#byName.set(name, mcpTool(name, definition));
    }
  }

  get definitions(): readonly ToolDefinition[] {
    return [...this.#byName.values()].map(({ definition }) => definition);
  }

  find(name: string): CursorTool | undefined {
    return this.#byName.get(name);
  }
}

function permitted({ allowed, excluded }: ToolLists): (members: readonly string[]) => boolean {
  const [only, never] = [namesOf(allowed), namesOf(excluded)];
  return (members) =>
    (only === undefined || members.some((name) => only.has(name))) && !members.some((name) => never?.has(name));
}

function namesOf(list: string | undefined): ReadonlySet<string> | undefined {
  if (list === undefined) return undefined;
  return new Set(
    list
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );
}
