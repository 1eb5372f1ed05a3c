import { spellToolName } from "../../core/spell-tool-name.ts";
import type { ToolDefinition } from "../../core/turn.ts";

/** The client's name of a tool by the one on the wire; a name that nobody offered stays as it is. */
export function toolNames(tools: readonly ToolDefinition[]): (wireName: string) => string {
  const names = new Map(tools.map(({ name }) => [spellToolName(name), name]));
  return (wireName) => names.get(wireName) ?? wireName;
}
