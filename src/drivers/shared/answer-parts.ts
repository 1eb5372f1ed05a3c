import { GatheredText } from "../../core/engine/gathered-text.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { AssistantMessage, AssistantPart, Message } from "../../core/turn.ts";

/** Longer answers are not kept; the client's transcript is used then. */
const MAX_LENGTH = 4 * 1024 * 1024;

/** The parts of an answer so far, including thinking with its signatures. */
export class AnswerParts {
  readonly #parts: AssistantPart[] = [];
  readonly #text = new GatheredText();
  readonly #thinking = new GatheredText();
  #length = 0;

  /** Undefined if it was too long to keep. */
  get parts(): readonly AssistantPart[] | undefined {
    this.#endText();
    return this.#length > MAX_LENGTH ? undefined : this.#parts;
  }

  take(event: TurnEvent): void {
    if (this.#length > MAX_LENGTH) return;
    if (event.type === "text" || event.type === "thinking") {
      this.#length += event.text.length;
      (event.type === "text" ? this.#text : this.#thinking).add(event.text);
    } else if (event.type === "thinking-done") {
      this.#endText();
      this.#parts.push({ type: "thinking", text: this.#thinking.take(), signature: event.signature });
    } else if (event.type === "tool-call") {
      this.#endText();
      this.#parts.push(event);
    }
  }

  #endText(): void {
    const text = this.#text.take();
    if (text !== "") this.#parts.push({ type: "text", text });
  }
}

/**
 * Returns the original answer with the client's ids of its calls. Undefined if the client's answer is a different one.
 */
export function asFirstGiven(parts: readonly AssistantPart[], answer: AssistantMessage): AssistantMessage | undefined {
  const calls = answer.content.filter((part) => part.type === "tool-call");
  const content = parts.flatMap((part): readonly AssistantPart[] => {
    if (part.type !== "tool-call") return [part];
    const call = calls.shift();
    return call ? [call] : [];
  });
  const isWhole = calls.length === 0 && count(content) === count(parts);
  return isWhole ? { role: "assistant", content } : undefined;
}

const count = (parts: readonly AssistantPart[]): number => parts.filter(({ type }) => type === "tool-call").length;

/** Returns the id that identifies an answer in any transcript: its first call's. */
export const firstCallId = (message: Message): string | undefined =>
  message.role === "assistant" ? message.content.find((part) => part.type === "tool-call")?.id : undefined;
