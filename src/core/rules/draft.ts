import type { TurnEvent, Usage } from "../events.ts";
import { addUsage } from "./usage-estimate.ts";

/**
 * Holds back the text of an answer until it is checked. Other events pass at once.
 *
 * An answer that calls tools or was cut off is not final, so there is nothing to check: it is passed on as it is.
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

  /** The usage of this attempt and of those before. */
  get usage(): Usage | undefined {
    return this.#usage && this.#spentBefore ? addUsage(this.#usage, this.#spentBefore) : this.#usage;
  }

  /** True if the answer was passed on and needs no check. */
  get isPassedOn(): boolean {
    return this.#isPassedOn;
  }

  /** Yields the events of an answer that may be shown before it is checked. */
  async *shown(answer: AsyncIterable<readonly TurnEvent[]>): AsyncGenerator<readonly TurnEvent[], void, undefined> {
    for await (const events of answer) {
      const passedOn = this.step(events);
      if (passedOn.length > 0) yield passedOn;
    }
  }

  /** Returns those of the events that may be shown now. */
  step(events: readonly TurnEvent[]): readonly TurnEvent[] {
    return events.flatMap((event) => this.#take(event));
  }

  /** Returns the last events of an answer that has passed the check. */
  finish(text: string, stopSequence?: string): readonly TurnEvent[] {
    return [
      ...(text === "" ? [] : [{ type: "text", text } as const]),
      ...this.#usageEvents(),
      { type: "done", reason: "stop", ...(stopSequence !== undefined && { stopSequence }) },
    ];
  }

  /** Returns the last events of an answer whose text is a tool call. The text is not shown. */
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
