import type { ToolDefinition, ToolMessage, Turn } from "../turn.ts";
import type { LossReason } from "./call-log.ts";

/** What a run was started with and cannot be changed while it waits. */
export interface RunTerms {
  readonly model: string;
  readonly system: string;
  /** Names of the tools that the model may call. */
  readonly tools: ReadonlySet<string>;
  readonly allowsParallelCalls: boolean;
}

export const termsOf = (turn: Turn): RunTerms => ({
  model: turn.model.id,
  system: turn.system,
  tools: new Set(offeredTools(turn).map(({ name }) => name)),
  allowsParallelCalls: turn.allowsParallelCalls,
});

/** Returns the client's tools that the model may call, by the turn's tool choice. */
export function offeredTools({ tools, toolChoice }: Turn): readonly ToolDefinition[] {
  if (toolChoice.type === "none") return [];
  return toolChoice.type === "tool" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
}

/** Returns why a run with these terms cannot answer a turn; undefined if it can. */
export function whyNot(terms: RunTerms, turn: Turn): LossReason | undefined {
  if (turn.model.id !== terms.model || !isSameSystem(terms.system, turn.system)) return "redirected";
  const offered = new Set(offeredTools(turn).map(({ name }) => name));
  // The run could call tools that are not offered any more, and could not call new ones.
  const isSameOffer = offered.size === terms.tools.size && [...offered].every((name) => terms.tools.has(name));
  const mayCallSeveral = terms.allowsParallelCalls && !turn.allowsParallelCalls;
  return isSameOffer && !mayCallSeveral ? undefined : "retooled";
}

/**
 * Adds the instructions that the turn has and the run has not to the last result. A waiting run takes nothing but results,
 * so there is no other way to send them.
 */
export function withAddedInstructions(
  terms: RunTerms,
  turn: Turn,
  results: readonly ToolMessage[],
): readonly ToolMessage[] {
  const added = turn.system.length > terms.system.length ? turn.system.slice(terms.system.length).trim() : "";
  const last = results.at(-1);
  if (added === "" || !last) return results;
  // Some clients send instructions in this form already.
  const text = added.startsWith("<system-reminder>") ? added : `<system-reminder>\n${added}\n</system-reminder>`;
  const news = { type: "text", text: `\n\n${text}` } as const;
  return [...results.slice(0, -1), { ...last, content: [...last.content, news] }];
}

/** Clients add instructions at the end during a conversation, and remove them again. */
function isSameSystem(before: string, after: string): boolean {
  return before === after || isBeginning(before, after) || isBeginning(after, before);
}

const isBeginning = (beginning: string, text: string): boolean =>
  beginning === "" || text.startsWith(`${beginning}\n\n`);
