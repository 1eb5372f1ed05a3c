import { invalid } from "./invalid.ts";

/**
 * Holds a conversation to its one rule about tools: every result answers one call made before it, once. Some clients
 * use an id again in a later answer: that is another call.
 */
export class CallResults {
  readonly #calls = new Map<string, "open" | "answered">();

  call(id: string): void {
    this.#calls.set(id, "open");
  }

  /** The calls of one answer, no two of one id. Throws `invalid-request` at the field of the second. */
  calls(ids: readonly string[], fieldOf: (index: number) => string): void {
    const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
    if (twice !== -1) throw invalid(fieldOf(twice), "there is a tool call with this id before it in the same message");
    for (const id of ids) this.call(id);
  }

  /** Throws `invalid-request` at this field. */
  result(id: string, field: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) throw invalid(field, "there is no tool call with this id before it");
    if (call === "answered") throw invalid(field, "the tool call with this id has a result already");
    this.#calls.set(id, "answered");
  }
}
