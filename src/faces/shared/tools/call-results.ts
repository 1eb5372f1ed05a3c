import { invalid } from "../errors/invalid.ts";

/**
 * Checks that every tool result has one call before it, and every call at most one result. A client may reuse an id in
 * a later answer: that is another call.
 */
export class CallResults {
  readonly #calls = new Map<string, "open" | "answered">();

  call(id: string): void {
    this.#calls.set(id, "open");
  }

  /** Records the calls of one answer. Throws `invalid-request` for a repeated id. */
  calls(ids: readonly string[], fieldOf: (index: number) => string): void {
    const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
    if (twice !== -1) throw invalid(fieldOf(twice), "an earlier tool call of the same message has this id");
    for (const id of ids) this.call(id);
  }

  /** Records a result. Throws `invalid-request` if no call waits for it. */
  result(id: string, field: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) throw invalid(field, "no earlier tool call has this id");
    if (call === "answered") throw invalid(field, "the tool call with this id already has a result");
    this.#calls.set(id, "answered");
  }
}
