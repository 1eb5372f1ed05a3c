import { ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import { readArguments } from "../../../core/json/call-arguments.ts";
import type { JsonObject } from "../../../core/turn.ts";
import { badEvent } from "./event-fields.ts";

/** More than any answer has. */
const MAX_CALLS = 1024;

const MAX_ARGUMENTS_LENGTH = 8 * 1024 * 1024;

export class StreamedCalls {
  readonly #toolName: (wireName: string) => string;
  readonly #ids = new Set<string>();

  /** `toolName` returns the client's name of a tool. */
  constructor(toolName: (wireName: string) => string) {
    this.#toolName = toolName;
  }

  get size(): number {
    return this.#ids.size;
  }

  /** Begins a call. `args` are used if no deltas follow. */
  begin(id: string, wireName: string, args?: object): StreamedCall {
    if (wireName === "") throw badEvent("with a tool call that has no name");
    return new StreamedCall(this.#ownId(id), this.#toolName(wireName), args as JsonObject | undefined);
  }

  /** Makes ids unique. Some servers send none, or the same one twice. */
  #ownId(given: string): string {
    if (this.#ids.size === MAX_CALLS) {
      throw new ExcursorError("too_many_calls", [MAX_CALLS]);
    }
    let id = given;
    for (let number = this.#ids.size; id === "" || this.#ids.has(id); number++) id = `call_${number}`;
    this.#ids.add(id);
    return id;
  }
}

/** One tool call with streamed arguments. */
export class StreamedCall {
  readonly #id: string;
  readonly #name: string;
  readonly #given: JsonObject;
  #json = "";

  constructor(id: string, name: string, given: JsonObject = {}) {
    this.#id = id;
    this.#name = name;
    this.#given = given;
  }

  start(): TurnEvent {
    return { type: "tool-call-start", id: this.#id, name: this.#name };
  }

  add(json: string): readonly TurnEvent[] {
    if (json === "") return [];
    this.#json += json;
    if (this.#json.length <= MAX_ARGUMENTS_LENGTH) return [{ type: "tool-call-delta", id: this.#id, json }];
    throw new ExcursorError("call_too_large");
  }

  /** `whole` is used if no deltas came. */
  end(whole = ""): TurnEvent {
    const json = this.#json === "" ? whole : this.#json;
    const args = json === "" ? this.#given : readArguments(json);
    return { type: "tool-call", id: this.#id, name: this.#name, args };
  }
}
