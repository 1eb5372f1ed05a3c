import { GatheredText } from "../../../core/engine/gathered-text.ts";
import { historyKeys } from "../../../core/history/history-key.ts";
import type { AssistantPart, Message, ToolCallPart } from "../../../core/turn.ts";
import { suspendedKey } from "../request/suspended.ts";

/** The conversation as the client has it: its history, and what it was shown since. */
export class Shown {
  #history: readonly Message[] = [];
  readonly #answer: AssistantPart[] = [];
  /** The text since the last call. */
  readonly #text = new GatheredText();
  #hasAny = false;
  #hasUncovered = false;

  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** True if the client has something that the last checkpoint does not contain. */
  get hasUncovered(): boolean {
    return this.#hasUncovered;
  }

  /** Begins an answer after the client's history. */
  begin(history: readonly Message[]): void {
    this.#history = history;
    this.#answer.length = 0;
    // Text after the last call is in the history now.
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

  /** Marks that the last checkpoint lacks something. */
  uncover(): void {
    this.#hasUncovered = true;
  }

  /** Marks that a checkpoint contains everything. */
  cover(): void {
    this.#hasUncovered = false;
  }

  /** Returns the key of the history that the client will send back. */
  historyKey(): string {
    this.#takeText();
    return historyKeys([...this.#history, { role: "assistant", content: this.#answer }]).at(-1) ?? "";
  }

  /** Returns the key of the turn while it waits for the results of its calls. */
  suspendedKey(): string {
    this.#takeText();
    return suspendedKey(this.#history, { role: "assistant", content: this.#answer });
  }

  #takeText(): void {
    const text = this.#text.take();
    if (text !== "") this.#answer.push({ type: "text", text });
  }
}
