import { randomBytes } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { unlessAborted } from "../../core/abort-race.ts";
import { ExcursorError } from "../../core/errors.ts";
import { within } from "../../core/within.ts";
import type { ClusterKeys } from "./cluster-keys.ts";
import { InternalConnection, MAX_MESSAGE_BYTES } from "./internal-connection.ts";
import { connectionLost, type InternalExchange } from "./internal-exchange.ts";
import { CONNECT_PATH, isProvenAnswer, PROTOCOL, proveRequest } from "./internal-request.ts";

/** Where a gateway is reached by the others. */
export interface InternalAddress {
  readonly tag: string;
  readonly advertise: string;
}

/** How long a connection may take. A machine that is gone refuses none. */
const CONNECT_MS = 2000;

/** How long another gateway may take to accept a connection, or to answer. It may be busy. */
const ACCEPT_MS = 10_000;

const MAX_CONNECTIONS = 4096;

/** Connections to one gateway that wait for the next exchange, at most, and for how long. */
const MAX_IDLE = 64;
const IDLE_MS = 60_000;

/** Sends requests to the other gateways of the cluster, over connections that are used again. */
export class InternalClient {
  readonly #keys: ClusterKeys;
  readonly #now: () => number;
  readonly #connections = new Set<InternalConnection>();
  /** By the tag of the gateway. */
  readonly #idle = new Map<string, InternalConnection[]>();

  /** `now` is the clock of the cluster, in ms. */
  constructor(keys: ClusterKeys, now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * Opens a request with its first message. Rejects if the other gateway cannot be reached, does not accept the connection, or
   * does not prove that it has the secret. The signal is for this time only.
   */
  async open(address: InternalAddress, name: string, first: unknown, signal?: AbortSignal): Promise<InternalExchange> {
    const connection = this.#takeIdle(address.tag) ?? (await this.#connect(address, signal));
    return connection.begin(name, first, () => this.#keep(address.tag, connection));
  }

  /** Sends one message, and resolves with all that the other gateway answers. */
  async ask(address: InternalAddress, name: string, message: unknown): Promise<readonly unknown[]> {
    const exchange = await this.open(address, name, message);
    exchange.end();
    return within(Array.fromAsync(exchange.messages()), ACCEPT_MS, () => {
      exchange.destroy();
      throw connectionLost();
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  async #connect({ tag, advertise }: InternalAddress, signal?: AbortSignal): Promise<InternalConnection> {
    if (this.#connections.size >= MAX_CONNECTIONS) throw connectionLost("too many connections");
    const keys = this.#keys;
    const nonce = randomBytes(16).toString("base64url");
    const proof = proveRequest(keys, { path: CONNECT_PATH, to: tag, timeMs: this.#now(), nonce });
    const outgoing = request(new URL(CONNECT_PATH, advertise), {
      agent: false,
      headers: { connection: "upgrade", upgrade: PROTOCOL, ...proof },
    });
    try {
      const accepted = within(acceptance(outgoing), ACCEPT_MS, () => {
        throw new Error("no answer in time");
      });
      const { response, socket } = await (signal ? unlessAborted(accepted, signal) : accepted);
      if (!socket) throw refused(response.statusCode);
      if (!isProvenAnswer(keys, response.headers, nonce)) throw unproven();
      const connection = new InternalConnection(socket, {
        sealer: keys.sealer("request", nonce),
        opener: keys.opener("answer", nonce, MAX_MESSAGE_BYTES),
      });
      this.#connections.add(connection);
      connection.onClose(() => this.#forget(tag, connection));
      return connection;
    } catch (error) {
      outgoing.destroy();
      throw error instanceof ExcursorError ? error : connectionLost(error);
    }
  }

  #takeIdle(tag: string): InternalConnection | undefined {
    const idle = this.#idle.get(tag) ?? [];
    for (;;) {
      const connection = idle.pop();
      if (!connection || connection.isOpen) return connection;
    }
  }

  #keep(tag: string, connection: InternalConnection): void {
    const idle = this.#idle.get(tag) ?? [];
    if (idle.length >= MAX_IDLE) connection.destroy();
    else idle.push(connection);
    this.#idle.set(tag, idle);
    connection.closeAfter(IDLE_MS);
  }

  #forget(tag: string, connection: InternalConnection): void {
    this.#connections.delete(connection);
    const idle = this.#idle.get(tag)?.filter(({ isOpen }) => isOpen) ?? [];
    if (idle.length > 0) this.#idle.set(tag, idle);
    else this.#idle.delete(tag);
  }
}

/** Sends the request for a connection. Resolves without a socket if it is refused. */
function acceptance(outgoing: ClientRequest): Promise<{ response: IncomingMessage; socket?: Socket }> {
  return new Promise((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.once("response", (response) => resolve({ response }));
    outgoing.once("upgrade", (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ response, socket });
    });
    outgoing.once("socket", (socket) => {
      const timer = setTimeout(() => outgoing.destroy(new Error("no connection in time")), CONNECT_MS);
      socket.once("connect", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
    });
    outgoing.end();
  });
}

const refused = (status: number | undefined): ExcursorError =>
  new ExcursorError("cluster_refused", [status ?? "closed"]);

const unproven = (): ExcursorError => new ExcursorError("cluster_unproven");
