import type { JsonObject, Principal } from "./turn.ts";

/**
 * Checks answers of models against JSON schemas of clients.
 *
 * A client's schema is hostile input: it can ask for exponential work while it is compiled, and again while an answer is
 * checked. An implementation therefore keeps these promises:
 *
 * - It never blocks the caller's thread for longer than one walk over a schema of bounded size. Larger ones are refused.
 * - Every call settles, by a deadline of the implementation's own.
 * - Each other principal delays a check at most by that deadline, and never makes it fail. All unverified tokens together
 *   count as one principal. Keys of the gateway never wait for tokens.
 * - Annotations (`title`, `format`, `x-…`) do not affect the result. `$async` and a `$ref` to elsewhere make the schema refused.
 */
export interface SchemaChecker {
  /**
   * Returns a check for answers, once the schema is known to be usable.
   *
   * Rejects with
   * - `invalid-request`, code `invalid_json_schema`, for a schema that is invalid, unsupported or too costly,
   * - `rate-limited` if too many checks of this principal (or of all unverified tokens) wait, `busy` if too many of all do,
   * - `canceled` if the signal aborts.
   */
  open(schema: JsonObject, context: SchemaContext): Promise<SchemaCheck>;
}

export interface SchemaContext {
  readonly principal: Principal;
  /** Where the schema is in the client's request, for errors. */
  readonly field: string;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
}

/**
 * Returns what in a JSON text does not match the schema, as one short line for the model, or undefined if it matches. The text
 * must be valid JSON. Rejects as {@link SchemaChecker.open} does: a check that exceeds the deadline is the schema's fault.
 */
export type SchemaCheck = (json: string) => Promise<string | undefined>;
