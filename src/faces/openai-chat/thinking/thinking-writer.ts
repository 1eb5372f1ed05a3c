import type { TurnEvent } from "../../../core/events.ts";
import type { ThinkingOptions } from "../answer.ts";
import { nextTags, type ThinkingTags } from "./thinking-tags.ts";

const PLACES = { fields: "fields", tags: "text", "tags-nonce": "text", none: "nowhere" } as const;

/**
 * Decides where the thinking of one answer goes, and writes the tags if it goes into the text. A block is closed by its
 * end, by any other output of the model, and by a failure.
 */
export class ThinkingWriter {
  readonly place: "fields" | "text" | "nowhere";
  readonly #options: ThinkingOptions;
  #open: ThinkingTags | undefined;
  /** Tags count only at the start of a line, so an unfinished line before them needs a break. */
  #isMidLine = false;

  constructor(options: ThinkingOptions) {
    this.place = PLACES[options.style];
    this.#options = options;
  }

  /** Returns the text to insert before this event, in most cases none. */
  textBefore(event: TurnEvent): string {
    switch (event.type) {
      case "text":
        if (event.text !== "") this.#isMidLine = !event.text.endsWith("\n");
        return this.#open ? this.close() : "";
      case "thinking":
        if (this.place !== "nowhere") this.#options.keeper.take(event.text);
        return this.#begin();
      case "thinking-done":
        return this.#end(event.signature);
      case "usage":
      case "notice":
        return "";
      default:
        return this.close();
    }
  }

  /** Closes the open block, if there is one. */
  close(signature?: string): string {
    const tags = this.#open;
    if (!tags) return "";
    this.#open = undefined;
    return tags.closer(this.#options.keeper.end(signature));
  }

  #begin(): string {
    const { style } = this.#options;
    if (this.#open || style === "fields" || style === "none") return "";
    this.#open = nextTags(style);
    const lineBreak = this.#isMidLine ? "\n" : "";
    this.#isMidLine = false;
    return lineBreak + this.#open.opener;
  }

  #end(signature: string | undefined): string {
    if (this.place === "text") {
      // Thinking without text is sealed: only its signature can be sent back.
      if (!this.#open && signature === undefined) return "";
      return this.#begin() + this.close(signature);
    }
    // Without a signature a client can lose nothing.
    if (signature === undefined || this.place === "nowhere") this.#options.keeper.forget();
    else this.#options.keeper.end(signature);
    return "";
  }
}
