import type { ExcursorError } from "../../core/errors.ts";
import { samplingNames } from "../../core/sampling.ts";
import type { Turn } from "../../core/turn.ts";

/**
 * The turn without what a model may refuse to be told: how the next token is chosen, or how hard to think. Undefined if the
 * refusal is about neither. An answer is worth more than either of them.
 */
export function withoutWishes(turn: Turn, { kind, message }: ExcursorError): Turn | undefined {
  if (kind !== "invalid-request") return undefined;
  const { sampling, ...plain } = turn;
  if (samplingNames(sampling).some((name) => message.includes(name))) return plain;
  const isEffort = turn.model.effort !== undefined && /reasoning[_.]effort/.test(message);
  return isEffort ? { ...turn, model: { ...turn.model, effort: undefined } } : undefined;
}
