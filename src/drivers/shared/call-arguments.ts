import { ExcursorError } from "../../core/errors.ts";
import { readArguments } from "../../core/json/call-arguments.ts";
import type { JsonObject } from "../../core/turn.ts";

const MAX_LENGTH = 8 * 1024 * 1024;

/** The arguments of one call, as they come in pieces. */
export class CallArguments {
  readonly #given: JsonObject;
  #json = "";

  /** What was given whole counts if no pieces follow. */
  constructor(given: object | undefined = {}) {
    this.#given = given as JsonObject;
  }

  add(json: string): void {
    this.#json += json;
    if (this.#json.length <= MAX_LENGTH) return;
    throw new ExcursorError("upstream-protocol", "The upstream sent a tool call that is larger than allowed.", {
      code: "call_too_large",
    });
  }

  parse(): JsonObject {
    return this.#json === "" ? this.#given : readArguments(this.#json);
  }
}
