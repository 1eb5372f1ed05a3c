import { within } from "../../core/within.ts";
import type { InternalAddress, InternalClient } from "../internal/internal-client.ts";
import { connectionLost, type InternalExchange } from "../internal/internal-exchange.ts";
import { type HubCopy, sizeOf } from "./hub-copy.ts";

/** The name of the request. After its first message come lists of {@link HubCopy}. The replies say how many copies are kept. */
export const KEEP_COPIES = "copies";

/** The first message. */
export interface CopyHello {
  /** The tag of the gateway that tells. */
  readonly from: string;
  /** The backend: answers of another one mean nothing. */
  readonly scope: string;
}

/** Changes that wait for a gateway that reads slowly, at most: twice what is remembered, which comes first. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Changes in one message, at most. */
const MAX_TOGETHER = 100;

/** Tells one other gateway what the hub does, in order. */
export class CopyStream {
  readonly #client: InternalClient;
  readonly #node: InternalAddress;
  readonly #hello: CopyHello;
  readonly #waiting: HubCopy[] = [];
  #waitingBytes = 0;
  #exchange: InternalExchange | undefined;
  #told = 0;
  #kept = 0;
  #isLate = false;
  #isStopped = false;
  #changed = Promise.withResolvers<void>();

  constructor(client: InternalClient, node: InternalAddress, hello: CopyHello) {
    this.#client = client;
    this.#node = node;
    this.#hello = hello;
  }

  tell(copy: HubCopy): void {
    this.#told++;
    this.#waiting.push(copy);
    this.#waitingBytes += sizeOf(copy);
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.stop();
    this.#notify();
  }

  /** Sends until {@link stop}, or until the other gateway is lost. Never rejects. */
  async run(): Promise<void> {
    try {
      this.#exchange = await this.#client.open(this.#node, KEEP_COPIES, this.#hello);
      const lost = this.#readReplies(this.#exchange);
      lost.catch(() => {});
      await Promise.race([lost, this.#send(this.#exchange)]);
    } catch {
      // It is told anew when it can be reached.
    } finally {
      this.stop();
    }
  }

  /**
   * Resolves when the other gateway has everything that was told before, or is lost. Once it has needed longer than `ms`, it is
   * not waited for until it has caught up.
   */
  async kept(ms: number): Promise<void> {
    if (this.#isLate) return;
    const target = this.#told;
    const kept = async () => {
      while (this.#kept < target && !this.#isStopped) await this.#changed.promise;
    };
    await within(kept(), ms, () => {
      this.#isLate = true;
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.length = 0;
    this.#exchange?.destroy();
    this.#notify();
  }

  async #send(exchange: InternalExchange): Promise<void> {
    while (!this.#isStopped) {
      const copies = this.#waiting.splice(0, MAX_TOGETHER);
      for (const copy of copies) this.#waitingBytes -= sizeOf(copy);
      if (copies.length > 0) await exchange.send(copies);
      else await this.#changed.promise;
    }
  }

  async #readReplies(exchange: InternalExchange): Promise<void> {
    for await (const kept of exchange.messages()) {
      this.#kept = Number(kept);
      this.#isLate &&= this.#kept < this.#told;
      this.#notify();
    }
    throw connectionLost();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
