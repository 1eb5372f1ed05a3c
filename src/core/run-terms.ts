import type { LossReason } from "./call-ledger.ts";
import type { ToolDefinition, Turn } from "./turn.ts";

/** What a run was told when it began: it cannot be told otherwise while it waits. */
export interface RunTerms {
  readonly model: string;
  readonly system: string;
  /** Names of what the model may call. */
  readonly tools: ReadonlySet<string>;
  readonly allowsParallelCalls: boolean;
}

export const termsOf = (turn: Turn): RunTerms => ({
  model: turn.model.id,
  system: turn.system,
  tools: new Set(offeredTools(turn).map(({ name }) => name)),
  allowsParallelCalls: turn.allowsParallelCalls,
});

/** What the model may call, of the tools that the client has. */
export function offeredTools({ tools, toolChoice }: Turn): readonly ToolDefinition[] {
  if (toolChoice.type === "none") return [];
  return toolChoice.type === "tool" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
}

/** Why a run with these terms cannot answer this turn; undefined if it can. */
export function whyNot(terms: RunTerms, turn: Turn): LossReason | undefined {
  if (turn.model.id !== terms.model || !isSameSystem(terms.system, turn.system)) return "redirected";
  const offered = offeredTools(turn);
  const knowsAll = offered.every(({ name }) => terms.tools.has(name));
  // Tools that are just gone were left out more often than taken back; a choice is meant.
  const isChoice = turn.toolChoice.type === "none" || turn.toolChoice.type === "tool";
  const mayCallOthers = isChoice && offered.length < terms.tools.size;
  const mayCallSeveral = terms.allowsParallelCalls && !turn.allowsParallelCalls;
  return !knowsAll || mayCallOthers || mayCallSeveral ? "retooled" : undefined;
}

/** Instructions come on the way, and passing ones go: they stand last. */
function isSameSystem(before: string, after: string): boolean {
  return before === after || isBeginning(before, after) || isBeginning(after, before);
}

const isBeginning = (beginning: string, text: string): boolean =>
  beginning === "" || text.startsWith(`${beginning}\n\n`);
