import type { ToolDefinition, ToolMessage, Turn } from "../turn.ts";
import type { LossReason } from "./call-log.ts";

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
  const offered = new Set(offeredTools(turn).map(({ name }) => name));
  // It could call what is not offered any more, and cannot call what it has never heard of.
  const isSameOffer = offered.size === terms.tools.size && [...offered].every((name) => terms.tools.has(name));
  const mayCallSeveral = terms.allowsParallelCalls && !turn.allowsParallelCalls;
  return isSameOffer && !mayCallSeveral ? undefined : "retooled";
}

/**
 * What a run has to be told beside the results it waits for: instructions that the turn has and it has not. They go with
 * the last result, since there is no other way to reach it.
 */
export function withNews(terms: RunTerms, turn: Turn, results: readonly ToolMessage[]): readonly ToolMessage[] {
  const added = turn.system.length > terms.system.length ? turn.system.slice(terms.system.length).trim() : "";
  const last = results.at(-1);
  if (added === "" || !last) return results;
  // Some clients have put it into these words themselves.
  const text = added.startsWith("<system-reminder>") ? added : `<system-reminder>\n${added}\n</system-reminder>`;
  const news = { type: "text", text: `\n\n${text}` } as const;
  return [...results.slice(0, -1), { ...last, content: [...last.content, news] }];
}

/** Instructions come on the way, and passing ones go: they stand last. */
function isSameSystem(before: string, after: string): boolean {
  return before === after || isBeginning(before, after) || isBeginning(after, before);
}

const isBeginning = (beginning: string, text: string): boolean =>
  beginning === "" || text.startsWith(`${beginning}\n\n`);
