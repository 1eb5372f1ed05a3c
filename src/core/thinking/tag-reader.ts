import type { TurnEvent } from "../events.ts";
import { type ThinkPart, ThinkSplitter } from "./think-splitter.ts";

/**
 * Makes thinking events of thinking that a model has written between tags in its text. Only text that may be the beginning of
 * a tag is held back. A caller that does not want to wait for more calls {@link release}.
 */
export class TagReader {
  readonly #splitter = new ThinkSplitter();
  readonly #now: () => number;
  #since: number | undefined;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get isHolding(): boolean {
    return this.#splitter.isHolding;
  }

  step(event: TurnEvent): readonly TurnEvent[] {
    if (event.type === "text") return this.#eventsOf(this.#splitter.push(event.text));
    // Usage and notices may come in the middle of a text.
    if (event.type === "usage" || event.type === "notice") return [event];
    return [...this.#eventsOf(this.#splitter.end()), event];
  }

  release(): readonly TurnEvent[] {
    return this.#eventsOf(this.#splitter.release());
  }

  #eventsOf(parts: readonly ThinkPart[]): readonly TurnEvent[] {
    return parts.flatMap((part): readonly TurnEvent[] => {
      switch (part.type) {
        case "text":
          return [part];
        case "thinking":
          this.#since ??= this.#now();
          return [part];
        case "thinking-done": {
          const durationMs = this.#since === undefined ? 0 : Math.round(this.#now() - this.#since);
          this.#since = undefined;
          return [{ type: "thinking-done", durationMs }];
        }
        case "think-id":
          return [];
        default:
          return part satisfies never;
      }
    });
  }
}
