import { ExcursorError } from "../../core/errors.ts";
import type { HubLimits } from "../limits.ts";

/** The time limits of a call: without progress, and in total. The idle limit is paused while a user is asked. */
export class CallClock {
  readonly #abort = new AbortController();
  readonly #idleMs: number;
  readonly #server: string;
  #idle: NodeJS.Timeout | undefined;
  #total: NodeJS.Timeout | undefined;
  #questions = 0;

  constructor(server: string, { callMs, callTotalMs }: HubLimits) {
    this.#server = server;
    this.#idleMs = callMs;
    this.#total = setTimeout(() => this.#expire(callTotalMs), callTotalMs).unref();
    this.touch();
  }

  /** Aborts with the reason when the time is up. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  touch(): void {
    clearTimeout(this.#idle);
    if (this.#questions === 0) this.#idle = setTimeout(() => this.#expire(this.#idleMs), this.#idleMs).unref();
  }

  async pauseFor<T>(question: Promise<T>): Promise<T> {
    this.#questions++;
    clearTimeout(this.#idle);
    try {
      return await question;
    } finally {
      this.#questions--;
      this.touch();
    }
  }

  stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    this.#questions = Number.POSITIVE_INFINITY;
  }

  #expire(afterMs: number): void {
    const text = `The MCP server "${this.#server}" did not answer a call within ${afterMs / 1000} s.`;
    this.#abort.abort(new ExcursorError("mcp_timeout", text));
  }
}
