import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AnswerCollector } from "../shared/face.ts";
import { asJson } from "../shared/official.ts";
import type { ResponseRenderer } from "./render.ts";

/** Collects the whole answer: the `response` that a stream would end with. */
export class ResponseCollector implements AnswerCollector {
  readonly #renderer: ResponseRenderer;

  constructor(renderer: ResponseRenderer) {
    this.#renderer = renderer;
  }

  step(events: readonly TurnEvent[]): void {
    this.#renderer.step(events);
  }

  body(): JsonObject {
    const { response } = this.#renderer;
    if (!response) throw new ExcursorError("internal", "An answer was sent before it was whole.");
    return asJson(response);
  }
}
