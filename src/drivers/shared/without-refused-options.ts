import type { ExcursorError } from "../../core/errors.ts";
import { samplingNames } from "../../core/sampling.ts";
import type { Turn } from "../../core/turn.ts";

/**
 * Returns the turn without its sampling options or its effort, if the upstream refused them. Undefined if the refusal
 * is about neither.
 */
export function withoutRefusedOptions(turn: Turn, { kind, message }: ExcursorError): Turn | undefined {
  if (kind !== "invalid-request") return undefined;
  const { sampling, ...plain } = turn;
  if (samplingNames(sampling).some((name) => message.includes(name))) return plain;
  const isEffort = turn.model.effort !== undefined && /reasoning[_.]effort/.test(message);
  return isEffort ? { ...turn, model: { ...turn.model, effort: undefined } } : undefined;
}
