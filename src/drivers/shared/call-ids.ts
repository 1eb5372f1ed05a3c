import { ExcursorError } from "../../core/errors.ts";

/** More calls than any answer has. */
const MAX_CALLS = 1024;

/** The ids of an answer's calls. Some servers give none, or give one twice; clients need each to have its own. */
export class CallIds {
  readonly #taken = new Set<string>();

  get size(): number {
    return this.#taken.size;
  }

  /** For a new call: the id it was given, or one made for it. */
  take(given: string): string {
    if (this.#taken.size === MAX_CALLS) {
      throw new ExcursorError(
        "upstream-protocol",
        `The upstream asked for more than ${MAX_CALLS} tool calls at once.`,
        {
          code: "too_many_calls",
        },
      );
    }
    let id = given;
    for (let number = this.#taken.size; id === "" || this.#taken.has(id); number++) id = `call_${number}`;
    this.#taken.add(id);
    return id;
  }
}
