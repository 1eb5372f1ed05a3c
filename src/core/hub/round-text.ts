import type { TurnEvent } from "../events.ts";
import { roundBreak } from "./round-break.ts";

/** Adds a break to the text of an answer between the rounds of hub tools. */
export class RoundText {
  #last = "";
  #isNewRound = false;

  /** Begins a new answer. */
  begin(): void {
    this.#last = "";
    this.#isNewRound = false;
  }

  endRound(): void {
    this.#isNewRound = true;
  }

  show(text: string): TurnEvent {
    const shown = this.#isNewRound ? roundBreak(this.#last, text) + text : text;
    if (text !== "") {
      this.#last = text;
      this.#isNewRound = false;
    }
    return { type: "text", text: shown };
  }
}
