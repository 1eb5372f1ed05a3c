import { randomBytes } from "node:crypto";
import { GatheredText } from "../../core/engine/gathered-text.ts";
import { MAX_THOUGHT_LENGTH, type Thoughts } from "../../core/thinking/thoughts.ts";

/** Keeps the thinking of one answer, block by block, for when the client brings it back. */
export class ThoughtKeeper {
  readonly #thoughts: Thoughts;
  readonly #principalId: string;
  /** Not there before the first: most answers are not thought about, or not seen to be. */
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

  /** The block is over, and nobody needs it. */
  forget(): void {
    this.#text = undefined;
    this.#length = 0;
  }

  /** The block is over. Gives the id under which it is found again, if it could be kept. */
  end(signature: string | undefined): string {
    const id = randomBytes(12).toString("hex");
    if (this.#length <= MAX_THOUGHT_LENGTH) {
      this.#thoughts.keep(this.#principalId, id, { text: this.#text?.take() ?? "", signature });
    }
    this.forget();
    return id;
  }
}
