import { ExcursorError } from "../core/errors.ts";

/** A client's configuration that cannot be parsed, so it is not overwritten. */
export class UnreadableConfig extends ExcursorError {
  readonly #why: string;

  constructor(why: string, file = "The configuration of the client") {
    super("client_config_unreadable", [file, why]);
    this.#why = why;
  }

  in(file: string): UnreadableConfig {
    return new UnreadableConfig(this.#why, file);
  }
}

export const unreadable = (why: string): UnreadableConfig => new UnreadableConfig(why);
