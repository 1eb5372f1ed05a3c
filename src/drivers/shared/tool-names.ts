import { spellToolName } from "../../core/spell-tool-name.ts";
import type { ToolDefinition } from "../../core/turn.ts";

/** Returns a function from the wire's tool names to the client's. Unknown names are unchanged. */
export function toolNames(tools: readonly ToolDefinition[]): (wireName: string) => string {
  const names = new Map(tools.map(({ name }) => [spellToolName(name), name]));
  return (wireName) => names.get(wireName) ?? wireName;
}
