import { randomBytes } from "node:crypto";
import { GatheredText } from "../../core/engine/gathered-text.ts";
import { MAX_THOUGHT_LENGTH, type Thoughts } from "../../core/thinking/thoughts.ts";

/** Stores the thinking of one answer, block by block, for when the client sends it back. */
export class ThoughtKeeper {
  readonly #thoughts: Thoughts;
  readonly #principalId: string;
  /** Created on demand: most answers have no visible thinking. */
  #text: GatheredText | undefined;
  #length = 0;

  constructor(thoughts: Thoughts, principalId: string) {
    this.#thoughts = thoughts;
    this.#principalId = principalId;
  }

  take(text: string): void {
    this.#length += text.length;
    this.#text ??= new GatheredText();
    if (this.#length <= MAX_THOUGHT_LENGTH) this.#text.add(text);
    else this.#text.take();
  }

  forget(): void {
    this.#text = undefined;
    this.#length = 0;
  }

  /** Ends the block. Returns the id it is stored under, if it was not too long to store. */
  end(signature: string | undefined): string {
    const id = randomBytes(12).toString("hex");
    if (this.#length <= MAX_THOUGHT_LENGTH) {
      this.#thoughts.keep(this.#principalId, id, { text: this.#text?.take() ?? "", signature });
    }
    this.forget();
    return id;
  }
}
