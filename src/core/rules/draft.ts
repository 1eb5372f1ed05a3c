import type { TurnEvent, Usage } from "../events.ts";
import { addUsage } from "./usage-estimate.ts";

/**
 * An answer whose text is kept back until somebody has checked it.
 *
 * One that calls tools or was cut short is not final, so there is nothing to check: it is passed on as it is.
 */
export class Draft {
  #text = "";
  #usage: Usage | undefined;
  readonly #spentBefore: Usage | undefined;
  #isPassedOn = false;

  constructor(spentBefore?: Usage) {
    this.#spentBefore = spentBefore;
  }

  get text(): string {
    return this.#text;
  }

  /** All that was spent, attempts before this one included. */
  get usage(): Usage | undefined {
    return this.#usage && this.#spentBefore ? addUsage(this.#usage, this.#spentBefore) : this.#usage;
  }

  /** The answer has gone out, its end included if it has one. */
  get isPassedOn(): boolean {
    return this.#isPassedOn;
  }

  /** What may be shown of an answer before it is checked. */
  async *shown(answer: AsyncIterable<readonly TurnEvent[]>): AsyncGenerator<readonly TurnEvent[], void, undefined> {
    for await (const events of answer) {
      const passedOn = this.step(events);
      if (passedOn.length > 0) yield passedOn;
    }
  }

  /** What may be shown of these events already. */
  step(events: readonly TurnEvent[]): readonly TurnEvent[] {
    return events.flatMap((event) => this.#take(event));
  }

  /** The end of the answer, with the text that was found good, and what it was stopped by. */
  finish(text: string, stopSequence?: string): readonly TurnEvent[] {
    return [
      ...(text === "" ? [] : [{ type: "text", text } as const]),
      ...this.#usageEvents(),
      { type: "done", reason: "stop", ...(stopSequence !== undefined && { stopSequence }) },
    ];
  }

  /** The end of an answer whose text stands for this call; the text is not shown. */
  finishWithCall(call: Omit<Extract<TurnEvent, { readonly type: "tool-call" }>, "type">): readonly TurnEvent[] {
    return [{ type: "tool-call", ...call }, ...this.#usageEvents(), { type: "done", reason: "tool-calls" }];
  }

  #take(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case "text":
        if (this.#isPassedOn) return [event];
        this.#text += event.text;
        return [];
      case "usage":
        this.#usage = event.usage;
        return [];
      case "tool-call-start":
      case "tool-call-delta":
      case "tool-call":
        return [...this.#passOn(), event];
      case "done":
        if (event.reason === "stop" && event.stopSequence === undefined && !this.#isPassedOn) return [];
        return [...this.#passOn(), ...this.#usageEvents(), event];
      case "thinking":
      case "thinking-done":
      case "activity":
      case "notice":
        return [event];
      default:
        return event satisfies never;
    }
  }

  #passOn(): readonly TurnEvent[] {
    const text = this.#isPassedOn ? "" : this.#text;
    this.#isPassedOn = true;
    return text === "" ? [] : [{ type: "text", text }];
  }

  #usageEvents(): readonly TurnEvent[] {
    return this.usage ? [{ type: "usage", usage: this.usage }] : [];
  }
}
