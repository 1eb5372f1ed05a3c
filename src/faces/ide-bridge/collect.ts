import { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AnswerCollector } from "../shared/face.ts";
import { asJson } from "../shared/official.ts";
import { type CompletionMessage, chatCompletion } from "../shared/openai/chat-completion.ts";
import type { ComposerTurn } from "./composers.ts";

/** Collects the answer of an agent as one `chat.completion`, and adds its text to the conversation. */
export class BridgeCollector implements AnswerCollector {
  readonly #turn: ComposerTurn;
  readonly #model: string;
  #text = "";
  #thinking = "";
  #usage: Usage | undefined;
  #reason: DoneReason | undefined;

  constructor(turn: ComposerTurn, model: string) {
    this.#turn = turn;
    this.#model = model;
  }

  step(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") {
        this.#text += event.text;
        this.#turn.say(event.text);
      } else if (event.type === "thinking") this.#thinking += event.text;
      else if (event.type === "usage") this.#usage = event.usage;
      else if (event.type === "done") this.#reason = event.reason;
    }
  }

  body(): JsonObject {
    if (this.#reason === undefined) throw new ExcursorError("internal", "The answer is not complete.");
    const now = Date.now();
    const head = { id: `acp-${now}`, created: Math.floor(now / 1000), model: this.#model };
    const thinking = this.#thinking;
    const message: CompletionMessage = {
      role: "assistant",
      content: this.#text,
      refusal: null,
      annotations: [],
      ...(thinking !== "" && { reasoning_content: thinking, reasoning: thinking }),
    };
    return asJson(chatCompletion(head, message, this.#reason, this.#usage));
  }
}
