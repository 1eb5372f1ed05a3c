import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { ExcursorError } from "../../core/errors.ts";
import { within } from "../../core/within.ts";
import type { ClusterKeys } from "./cluster-keys.ts";
import { connectionLost, InternalExchange, MAX_MESSAGE_BYTES } from "./internal-exchange.ts";
import { isProvenAnswer, PATH_PREFIX, proveRequest } from "./internal-request.ts";

/** Where a gateway is reached by the others. */
export interface InternalAddress {
  readonly tag: string;
  readonly advertise: string;
}

/** How long a connection may take. A machine that is gone refuses none. */
const CONNECT_MS = 2000;

/** How long another gateway may take to accept a request. It may be busy. */
const ACCEPT_MS = 10_000;

const MAX_SOCKETS = 1024;

/** Sends requests to the other gateways of the cluster. */
export class InternalClient {
  readonly #keys: ClusterKeys;
  readonly #now: () => number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: 64 });

  /** `now` is the clock of the cluster, in ms. */
  constructor(keys: ClusterKeys, now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * Opens a request with its first message. Rejects if the other gateway cannot be reached, does not accept the request, or
   * does not prove that it has the secret. The signal is for this time only.
   */
  async open(address: InternalAddress, name: string, first: unknown, signal?: AbortSignal): Promise<InternalExchange> {
    const path = PATH_PREFIX + name;
    const nonce = randomBytes(16).toString("base64url");
    const keys = this.#keys;
    const outgoing = request(new URL(path, address.advertise), {
      method: "POST",
      agent: this.#agent,
      headers: proveRequest(keys, { path, to: address.tag, timeMs: this.#now(), nonce }),
    });
    const accepted = once(outgoing, "response", {
      signal: AbortSignal.any([AbortSignal.timeout(ACCEPT_MS), ...(signal ? [signal] : [])]),
    }) as Promise<[IncomingMessage]>;
    outgoing.on("error", () => {});
    outgoing.once("socket", (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => outgoing.destroy(new Error("no connection in time")), CONNECT_MS);
      socket.once("connect", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
    });
    const exchange = new InternalExchange(async () => (await accepted)[0], outgoing, {
      sealer: keys.sealer("request", nonce),
      opener: keys.opener("answer", nonce, MAX_MESSAGE_BYTES),
    });
    try {
      exchange.send(first).catch(() => {});
      const [response] = await accepted;
      response.on("error", () => {});
      if (response.statusCode !== 200) throw refused(response.statusCode);
      if (!isProvenAnswer(keys, response.headers, nonce)) throw unproven();
    } catch (error) {
      outgoing.destroy();
      throw error instanceof ExcursorError ? error : connectionLost(error);
    }
    return exchange;
  }

  /** Sends one message, and resolves with all that the other gateway answers. After that the connection can be used again. */
  async ask(address: InternalAddress, name: string, message: unknown): Promise<readonly unknown[]> {
    const exchange = await this.open(address, name, message);
    exchange.end();
    return within(Array.fromAsync(exchange.messages()), ACCEPT_MS, () => {
      exchange.destroy();
      throw connectionLost();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

const refused = (status: number | undefined): ExcursorError =>
  new ExcursorError("upstream-unavailable", `Another gateway of the cluster refuses the request (${status}).`, {
    code: "cluster_refused",
    hint: "The setting cluster.secret must be the same on all gateways.",
  });

const unproven = (): ExcursorError =>
  new ExcursorError("upstream-unavailable", "Another gateway of the cluster does not prove the cluster's secret.", {
    code: "cluster_unproven",
    hint: "The setting cluster.secret must be the same on all gateways.",
  });
