import { within } from "../../core/within.ts";
import type { InternalAddress, InternalClient } from "../internal/internal-client.ts";
import { connectionLost, type InternalExchange } from "../internal/internal-exchange.ts";
import { type HubCopy, sizeOf } from "./hub-copy.ts";

/** The name of the request. After the first message come lists of {@link HubCopy}. Replies acknowledge how many have arrived. */
export const SEND_COPIES = "copies";

/** The first message. */
export interface CopyHello {
  /** The tag of the gateway that sends. */
  readonly from: string;
  /** Names the backend. Copies of another backend are ignored. */
  readonly scope: string;
}

/** The most that waits for a gateway that reads slowly: twice what `RecentAnswers` holds, which is sent first. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Changes in one message, at most. */
const MAX_TOGETHER = 100;

/** Sends changes of hub answers to one other gateway, in order. */
export class CopyStream {
  readonly #client: InternalClient;
  readonly #node: InternalAddress;
  readonly #hello: CopyHello;
  readonly #waiting: HubCopy[] = [];
  #waitingBytes = 0;
  #exchange: InternalExchange | undefined;
  #sent = 0;
  #acknowledged = 0;
  #isLate = false;
  #isStopped = false;
  #changed = Promise.withResolvers<void>();

  constructor(client: InternalClient, node: InternalAddress, hello: CopyHello) {
    this.#client = client;
    this.#node = node;
    this.#hello = hello;
  }

  send(copy: HubCopy): void {
    this.#sent++;
    this.#waiting.push(copy);
    this.#waitingBytes += sizeOf(copy);
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.stop();
    this.#notify();
  }

  /** Sends until {@link stop}, or until the other gateway is lost. Never rejects. */
  async run(): Promise<void> {
    try {
      this.#exchange = await this.#client.open(this.#node, SEND_COPIES, this.#hello);
      const lost = this.#readReplies(this.#exchange);
      lost.catch(() => {});
      await Promise.race([lost, this.#sendAll(this.#exchange)]);
    } catch {
      // The gateway is lost. The next change opens another stream.
    } finally {
      this.stop();
    }
  }

  /**
   * Resolves when the other gateway has acknowledged everything sent so far, or is lost. If that takes longer than `ms`, later
   * calls resolve at once until it has caught up.
   */
  async acknowledged(ms: number): Promise<void> {
    if (this.#isLate) return;
    const target = this.#sent;
    const arrived = async () => {
      while (this.#acknowledged < target && !this.#isStopped) await this.#changed.promise;
    };
    await within(arrived(), ms, () => {
      this.#isLate = true;
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.length = 0;
    this.#exchange?.destroy();
    this.#notify();
  }

  async #sendAll(exchange: InternalExchange): Promise<void> {
    while (!this.#isStopped) {
      const copies = this.#waiting.splice(0, MAX_TOGETHER);
      for (const copy of copies) this.#waitingBytes -= sizeOf(copy);
      if (copies.length > 0) await exchange.send(copies);
      else await this.#changed.promise;
    }
  }

  async #readReplies(exchange: InternalExchange): Promise<void> {
    for await (const count of exchange.messages()) {
      this.#acknowledged = Number(count);
      this.#isLate &&= this.#acknowledged < this.#sent;
      this.#notify();
    }
    throw connectionLost();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
