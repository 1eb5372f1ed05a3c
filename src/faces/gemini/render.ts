import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { TextRenderer } from "../shared/face.ts";
import { splitTemplate, type Template } from "../shared/template.ts";
import type { CalledTool } from "../shared/tools/call-memory.ts";
import { type AnswerHead, callPart, response } from "./answer.ts";
import { errorObject } from "./errors.ts";
import { wrapSignature } from "./signature.ts";

/** The text around the chunks of a stream. */
interface Framing {
  readonly beforeFirst: string;
  readonly beforeNext: string;
  readonly after: string;
  readonly end: string;
}

const SERVER_EVENTS: Framing = { beforeFirst: "data: ", beforeNext: "data: ", after: "\n\n", end: "" };
const ARRAY: Framing = { beforeFirst: "[", beforeNext: ",\n", after: "", end: "]\n" };

/**
 * Renders events as chunks, which are server-sent events. The constant text of a chunk is built once per stream, so a
 * token costs one `JSON.stringify` and one concatenation.
 */
export class ChunkRenderer implements TextRenderer {
  readonly #head: AnswerHead;
  readonly #framing: Framing;
  readonly #text: Template;
  readonly #thought: Template;
  readonly #calls: CalledTool[] = [];
  #usage: Usage | undefined;
  #hasBegun = false;

  constructor(head: AnswerHead, framing: Framing = SERVER_EVENTS) {
    this.#head = head;
    this.#framing = framing;
    this.#text = splitTemplate((mark) => this.#chunk(response(head, [{ text: mark }])));
    this.#thought = splitTemplate((mark) => this.#chunk(response(head, [{ text: mark, thought: true }])));
  }

  step(events: readonly TurnEvent[]): string {
    let out = "";
    for (const event of events) out += this.#render(event);
    return this.#begun(out);
  }

  fail(error: ExcursorError, requestId: string): string {
    return this.#begun(this.#chunk(errorObject(error, requestId))) + this.#framing.end;
  }

  #render(event: TurnEvent): string {
    switch (event.type) {
      case "text":
        return this.#text.before + JSON.stringify(event.text) + this.#text.after;
      case "thinking":
        if (!this.#head.includesThoughts) return "";
        return this.#thought.before + JSON.stringify(event.text) + this.#thought.after;
      case "thinking-done":
        return this.#sign(event.signature);
      case "tool-call":
        return this.#call(event);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "done":
        return this.#end(event.reason);
      case "tool-call-start":
      case "tool-call-delta":
      case "activity":
      case "notice":
        return "";
      default:
        return event satisfies never;
    }
  }

  /** The signature follows the thought, in a part of its own. */
  #sign(signature: string | undefined): string {
    if (signature === undefined || !this.#head.includesThoughts) return "";
    const part = { text: "", thought: true, thoughtSignature: wrapSignature(signature) };
    return this.#chunk(response(this.#head, [part]));
  }

  #call({ id, name, args }: CalledTool): string {
    const call = { id, name, args };
    this.#calls.push(call);
    return this.#chunk(response(this.#head, [callPart(call)]));
  }

  #end(reason: DoneReason): string {
    if (this.#calls.length > 0) this.#head.keepCalls(this.#calls);
    // Google's chat forgets an answer if one of its chunks has no part.
    const last = response(this.#head, [{ text: "" }], { reason, usage: this.#usage });
    return this.#chunk(last) + this.#framing.end;
  }

  #chunk(value: JsonObject): string {
    return this.#framing.beforeNext + JSON.stringify(value) + this.#framing.after;
  }

  #begun(out: string): string {
    if (this.#hasBegun || out === "") return out;
    this.#hasBegun = true;
    return this.#framing.beforeFirst + out.slice(this.#framing.beforeNext.length);
  }
}

/** Renders the same chunks as one JSON array, as Google does without `alt=sse`. */
export class ArrayRenderer extends ChunkRenderer {
  readonly contentType = "application/json; charset=utf-8";
  readonly keepAlive = "\n";

  constructor(head: AnswerHead) {
    super(head, ARRAY);
  }
}
