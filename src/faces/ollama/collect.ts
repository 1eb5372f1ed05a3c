import { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AnswerCollector } from "../shared/face.ts";
import type { CalledTool } from "../shared/tools/call-memory.ts";
import { type AnswerHead, endFields, line } from "./answer.ts";

export class LineCollector implements AnswerCollector {
  readonly #head: AnswerHead;
  readonly #calls: CalledTool[] = [];
  #text = "";
  #thinking = "";
  #usage: Usage | undefined;
  #reason: DoneReason | undefined;
  #firstEventAt: number | undefined;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  step(events: readonly TurnEvent[]): void {
    this.#firstEventAt ??= performance.now();
    for (const event of events) this.#take(event);
  }

  body(): JsonObject {
    const head = this.#head;
    if (!this.#reason) throw new ExcursorError("internal", "An answer was sent before it was whole.");
    if (this.#calls.length > 0) head.keepCalls(this.#calls);
    const thinking = this.#thinking === "" ? {} : { thinking: this.#thinking };
    return {
      ...line(head, { text: this.#text, ...thinking, calls: this.#calls }),
      ...endFields(head, this.#reason, this.#usage, this.#firstEventAt ?? head.startedAt),
    };
  }

  #take(event: TurnEvent): void {
    const { showsThinking, keeper } = this.#head;
    if (event.type === "text") this.#text += event.text;
    else if (event.type === "thinking" && showsThinking) {
      this.#thinking += event.text;
      keeper.take(event.text);
    } else if (event.type === "thinking-done") {
      if (event.signature === undefined || !showsThinking) keeper.forget();
      else keeper.end(event.signature);
    } else if (event.type === "tool-call") this.#calls.push({ id: event.id, name: event.name, args: event.args });
    else if (event.type === "usage") this.#usage = event.usage;
    else if (event.type === "done") this.#reason = event.reason;
  }
}
