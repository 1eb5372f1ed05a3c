import { inspect } from "node:util";

/**
 * A value that must not leave the process in any text. Whatever prints it, prints `[redacted]`; who really needs it
 * says so by {@link Secret.reveal}, which is easy to search for.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[redacted]";
  }

  toJSON(): string {
    return "[redacted]";
  }

  [inspect.custom](): string {
    return "[redacted]";
  }
}
