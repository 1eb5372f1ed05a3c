import type { TurnEvent } from "../../core/events.ts";
import type { ThinkingOptions } from "./answer.ts";
import { nextTags, type ThinkingTags } from "./thinking-tags.ts";

/** Where a style puts what was thought. */
const PLACES = { fields: "fields", tags: "text", "tags-nonce": "text", none: "nowhere" } as const;

/**
 * The thinking of one answer: where it goes, and the tags around it where it is part of the text. A block is closed by
 * its end, by anything else that the model does, and by a failure.
 */
export class ThinkingWriter {
  readonly place: "fields" | "text" | "nowhere";
  readonly #options: ThinkingOptions;
  #open: ThinkingTags | undefined;
  /** Tags are known by standing at the start of a line; what was said before may not have ended its own. */
  #isMidLine = false;

  constructor(options: ThinkingOptions) {
    this.place = PLACES[options.style];
    this.#options = options;
  }

  /** What the text says before this event, which for most is nothing. */
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

  /** Ends a block that is open. */
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
      // Thinking without a text is sealed: all that can be brought back is what it is signed with.
      if (!this.#open && signature === undefined) return "";
      return this.#begin() + this.close(signature);
    }
    // Without a signature there is nothing that a client could lose.
    if (signature === undefined || this.place === "nowhere") this.#options.keeper.forget();
    else this.#options.keeper.end(signature);
    return "";
  }
}
