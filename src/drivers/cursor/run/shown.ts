import { GatheredText } from "../../../core/engine/gathered-text.ts";
import { historyKeys } from "../../../core/history/history-key.ts";
import type { AssistantPart, Message, ToolCallPart } from "../../../core/turn.ts";

/** The conversation as the client has it: the history it sent, and what it was shown since. */
export class Shown {
  #history: readonly Message[] = [];
  readonly #answer: AssistantPart[] = [];
  /** Since the last call. */
  readonly #text = new GatheredText();
  #hasAny = false;
  #hasUncovered = false;

  /** The client was shown something, in this attempt or an earlier one. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** It has something that the last checkpoint does not know. */
  get hasUncovered(): boolean {
    return this.#hasUncovered;
  }

  /** The client has sent its history, and an answer begins. */
  begin(history: readonly Message[]): void {
    this.#history = history;
    this.#answer.length = 0;
    // Text after the last call is part of the answer before, which is in the history now.
    this.#text.take();
  }

  mark(): void {
    this.#hasAny = true;
    this.#hasUncovered = true;
  }

  text(text: string): void {
    this.#text.add(text);
  }

  call(part: ToolCallPart): void {
    this.#takeText();
    this.#answer.push(part);
  }

  /** Something is known here that no checkpoint knows yet. */
  uncover(): void {
    this.#hasUncovered = true;
  }

  /** A checkpoint came that knows it all. */
  cover(): void {
    this.#hasUncovered = false;
  }

  /** Of the history that the client will send back. */
  historyKey(): string {
    this.#takeText();
    return historyKeys([...this.#history, { role: "assistant", content: this.#answer }]).at(-1) ?? "";
  }

  #takeText(): void {
    const text = this.#text.take();
    if (text !== "") this.#answer.push({ type: "text", text });
  }
}
