import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Writable } from "node:stream";
import { ExcursorError } from "../../core/errors.ts";
import type { FrameOpener, FrameSealer } from "./frames.ts";

/** The largest message between gateways. A turn has at most one request body, and images as text. */
export const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

/** One request between two gateways: messages in both directions at the same time, as JSON values. */
export class InternalExchange {
  readonly #incoming: () => Promise<IncomingMessage>;
  readonly #outgoing: Writable;
  readonly #sealer: FrameSealer;
  readonly #opener: FrameOpener;

  constructor(
    incoming: () => Promise<IncomingMessage>,
    outgoing: Writable,
    { sealer, opener }: { readonly sealer: FrameSealer; readonly opener: FrameOpener },
  ) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#sealer = sealer;
    this.#opener = opener;
  }

  /** Sends a message. Waits while the other gateway reads slowly. */
  async send(message: unknown): Promise<void> {
    if (this.#outgoing.destroyed) throw connectionLost();
    if (this.#outgoing.write(this.#sealer.seal(JSON.stringify(message)))) return;
    const stop = new AbortController();
    const closed = once(this.#outgoing, "close", { signal: stop.signal }).then(() => {
      throw connectionLost();
    });
    try {
      await Promise.race([once(this.#outgoing, "drain", { signal: stop.signal }), closed]);
    } finally {
      closed.catch(() => {});
      stop.abort();
    }
  }

  /** Tells the other gateway that no message follows. */
  end(): void {
    if (!this.#outgoing.destroyed) this.#outgoing.end();
  }

  destroy(): void {
    this.#outgoing.destroy();
  }

  /** Reads the messages of the other gateway, up to its end. Throws if the connection breaks. May be left and gone on with. */
  async *messages(): AsyncGenerator<unknown, void> {
    const incoming = await this.#incoming();
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      for (const json of this.#opener.push(chunk as Buffer)) yield JSON.parse(json) as unknown;
    }
  }
}

export const connectionLost = (cause?: unknown): ExcursorError =>
  new ExcursorError("upstream-unavailable", "The connection to another gateway of the cluster was lost.", {
    code: "cluster_connection_lost",
    ...(cause !== undefined && { cause }),
  });
