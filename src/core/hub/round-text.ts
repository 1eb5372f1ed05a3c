import type { TurnEvent } from "../events.ts";
import { roundBreak } from "./round-break.ts";

/** The text of one answer, with a break between what was said before and after a round of hub tools. */
export class RoundText {
  #last = "";
  #isNewRound = false;

  /** A new answer begins. */
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
