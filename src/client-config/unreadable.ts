import { ExcursorError } from "../core/errors.ts";

/** A configuration of another program that is not what it should be: nothing is written over it. */
export class UnreadableConfig extends ExcursorError {
  readonly #why: string;

  constructor(why: string, file = "The configuration of the client") {
    super("config", `${file} cannot be read: ${why}.`, {
      code: "client_config_unreadable",
      hint: "Nothing was changed. Mend the file, or move it away, and try again.",
    });
    this.#why = why;
  }

  /** The same, with the file's name. */
  in(file: string): UnreadableConfig {
    return new UnreadableConfig(this.#why, file);
  }
}

export const unreadable = (why: string): UnreadableConfig => new UnreadableConfig(why);
