import type { InternalExchange } from "../internal/internal-exchange.ts";

/**
 * Reads the frames of an exchange, and ends the exchange if none arrives for too long. Only the time in which a frame is awaited
 * counts: a client that reads slowly awaits none. All frames share one timer, since a timer for each costs more.
 */
export class SilenceWatch {
  readonly #ms: number;
  readonly #timer: NodeJS.Timeout;
  #waits = 0;
  #isWaiting = false;
  #isSilent = false;

  constructor(ms: number, exchange: InternalExchange) {
    this.#ms = ms;
    this.#timer = setTimeout(() => {
      const wait = this.#waits;
      // If this thread was late itself, a frame may be here already.
      setImmediate(() => {
        if (!this.#isWaiting || this.#waits > wait) return;
        this.#isSilent = true;
        exchange.destroy();
      });
    }, ms).unref();
  }

  async next<T>(frames: AsyncIterator<T, void>): Promise<IteratorResult<T, void>> {
    this.#waits++;
    this.#isWaiting = true;
    this.#timer.refresh();
    try {
      return await frames.next();
    } catch (error) {
      throw this.#isSilent ? new Error(`The home node was silent for ${this.#ms} ms.`) : error;
    } finally {
      this.#isWaiting = false;
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
