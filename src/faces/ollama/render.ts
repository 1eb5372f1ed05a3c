import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { TextRenderer } from "../shared/face.ts";
import { splitTemplate, type Template } from "../shared/template.ts";
import type { CalledTool } from "../shared/tools/call-memory.ts";
import { type AnswerHead, endFields, line } from "./answer.ts";
import { errorObject } from "./errors.ts";

/**
 * Renders events as lines of JSON. The constant text of a line is built once per stream, so a token costs one
 * `JSON.stringify` and one concatenation.
 */
export class LineRenderer implements TextRenderer {
  readonly contentType = "application/x-ndjson";
  /** A line without text: some clients do not accept an empty line. */
  readonly keepAlive: string;
  readonly #head: AnswerHead;
  readonly #text: Template;
  readonly #thinking: Template;
  readonly #calls: CalledTool[] = [];
  #usage: Usage | undefined;
  #firstEventAt: number | undefined;

  constructor(head: AnswerHead) {
    this.#head = head;
    this.keepAlive = written(line(head, {}));
    this.#text = splitTemplate((text) => written(line(head, { text })));
    this.#thinking = splitTemplate((thinking) => written(line(head, { thinking })));
  }

  step(events: readonly TurnEvent[]): string {
    this.#firstEventAt ??= performance.now();
    let out = "";
    for (const event of events) out += this.#render(event);
    return out;
  }

  fail(error: ExcursorError, requestId: string): string {
    return written(errorObject(error, requestId));
  }

  #render(event: TurnEvent): string {
    switch (event.type) {
      case "text":
        return this.#text.before + JSON.stringify(event.text) + this.#text.after;
      case "thinking":
        if (!this.#head.showsThinking) return "";
        this.#head.keeper.take(event.text);
        return this.#thinking.before + JSON.stringify(event.text) + this.#thinking.after;
      case "thinking-done":
        if (event.signature === undefined || !this.#head.showsThinking) this.#head.keeper.forget();
        else this.#head.keeper.end(event.signature);
        return "";
      case "tool-call": {
        const { id, name, args } = event;
        this.#calls.push({ id, name, args });
        return "";
      }
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

  /** The calls are in one line: LangChain joins calls of several lines. */
  #end(reason: DoneReason): string {
    const head = this.#head;
    if (this.#calls.length > 0) head.keepCalls(this.#calls);
    const calls = this.#calls.length > 0 ? written(line(head, { calls: this.#calls })) : "";
    const end = endFields(head, reason, this.#usage, this.#firstEventAt ?? head.startedAt);
    return calls + written({ ...line(head, {}), ...end });
  }
}

const written = (value: object): string => `${JSON.stringify(value)}\n`;
