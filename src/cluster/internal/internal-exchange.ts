import { ExcursorError } from "../../core/errors.ts";

/** The connection that carries an exchange. */
interface Carrier {
  /** Sends a message. Waits while the other gateway reads slowly. */
  sendMessage(message: unknown, isLast: boolean): Promise<void>;
  sendEnd(): void;
  /** Goes on reading. It stops while messages are unread. */
  resume(): void;
  destroy(): void;
}

/** One request between two gateways: messages in both directions at the same time, as JSON values. */
export class InternalExchange {
  readonly #carrier: Carrier;
  /** Unread messages, as JSON. */
  readonly #inbox: string[] = [];
  readonly #lost = new AbortController();
  #wake: (() => void) | undefined;
  /** The other gateway sends no more messages. */
  #hasEnded = false;
  /** Its connection may carry another exchange already. */
  #isOver = false;

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  /** Aborts when the connection is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get hasUnread(): boolean {
    return this.#inbox.length > 0;
  }

  /**
   * Sends a message. Waits while the other gateway reads slowly. With the last one, the gateway that is asked ends the exchange,
   * which saves a frame.
   */
  async send(message: unknown, isLast = false): Promise<void> {
    if (this.#isOver) throw connectionLost();
    await this.#carrier.sendMessage(message, isLast);
  }

  /** Tells the gateway that is asked that no message follows. */
  end(): void {
    if (!this.#isOver) this.#carrier.sendEnd();
  }

  destroy(): void {
    if (!this.#isOver) this.#carrier.destroy();
  }

  /** Reads the messages of the other gateway, up to its end. Throws if the connection breaks. May be left and gone on with. */
  async *messages(): AsyncGenerator<unknown, void> {
    for (;;) {
      const json = this.#inbox.shift();
      if (json !== undefined) yield JSON.parse(json) as unknown;
      else if (this.#hasEnded) return;
      else if (this.#lost.signal.aborted) throw connectionLost();
      else {
        this.#carrier.resume();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    }
  }

  /** For the connection: a message has arrived. */
  receive(json: string): void {
    this.#inbox.push(json);
    this.#wake?.();
  }

  /** For the connection: the other gateway sends no more. */
  receiveEnd(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  /** For the connection: nothing can be sent any more. */
  finish(): void {
    this.#isOver = true;
    this.receiveEnd();
  }

  /** For the connection: it is lost. */
  lose(): void {
    this.#isOver = true;
    this.#lost.abort();
    this.#wake?.();
  }
}

export const connectionLost = (cause?: unknown): ExcursorError =>
  new ExcursorError("cluster_connection_lost", [], { ...(cause !== undefined && { cause }) });
