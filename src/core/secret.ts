import { inspect } from "node:util";

/**
 * A value that must not appear in logs, errors or output. Printing it in any way gives `[redacted]`. Code that needs the
 * value calls {@link Secret.reveal}, which is easy to search for.
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
