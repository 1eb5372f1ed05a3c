import { once } from "node:events";
import { createServer, type IncomingMessage, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ExcursorError } from "../../core/errors.ts";
import { within } from "../../core/within.ts";
import type { Log } from "../../observe/log.ts";
import type { ClusterKeys } from "./cluster-keys.ts";
import { InternalConnection, MAX_MESSAGE_BYTES } from "./internal-connection.ts";
import type { InternalExchange } from "./internal-exchange.ts";
import { CONNECT_PATH, checkRequest, MAX_AGE_MS, PROTOCOL, proveAnswer } from "./internal-request.ts";
import { SeenNonces } from "./seen-nonces.ts";

/** Serves one request of another gateway. `signal` aborts when the connection is lost. */
export type InternalHandler = (exchange: InternalExchange, signal: AbortSignal) => Promise<void>;

export interface InternalListenerOptions {
  /** Undefined: all addresses. */
  readonly host: string | undefined;
  readonly port: number;
  readonly keys: ClusterKeys;
  /** The tag of this gateway. */
  readonly tag: string;
  /** The clock of the cluster, in ms. */
  readonly now: () => number;
  readonly handlers: Readonly<Record<string, InternalHandler>>;
  readonly log: Log;
}

export interface InternalListener {
  readonly port: number;
  /** Connections and requests that were refused since the start, by reason. */
  readonly refused: ReadonlyMap<string, number>;
  /** Refuses new requests but those of `kept`, and waits until those under way are answered, at most so long. */
  finish(ms: number, kept?: KeptRequests): Promise<void>;
  close(): Promise<void>;
}

/** Requests of this name are served until then, also by a gateway that stops. */
interface KeptRequests {
  readonly name: string;
  readonly until: Promise<unknown>;
}

const MAX_CONNECTIONS = 4096;

const HEADERS_MS = 10_000;

/** Listens for the other gateways of the cluster. A connection that does not prove the secret is closed. */
export async function listenInternally(options: InternalListenerOptions): Promise<InternalListener> {
  const { keys, tag, now, handlers, log } = options;
  const seen = new SeenNonces(2 * MAX_AGE_MS);
  const refused = new Map<string, number>();
  const connections = new Set<InternalConnection>();
  const active = new Set<Promise<void>>();
  let isFinishing = false;
  let keptName: string | undefined;

  const count = (reason: string) => refused.set(reason, (refused.get(reason) ?? 0) + 1);

  const refuse = (socket: Socket, status: number, reason: string) => {
    count(reason);
    const body = JSON.stringify({ error: { code: `cluster_${reason}` } });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  };

  const accept = (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", () => {});
    const path = request.url ?? "";
    const check = checkRequest(keys, request.headers, { path, to: tag, nowMs: now(), seen });
    if (check.type === "refused") {
      log.warn({ reason: check.reason, peer: socket.remoteAddress }, "A request to the cluster's port is refused.");
      return refuse(socket, 401, check.reason);
    }
    if (isFinishing && keptName === undefined) return refuse(socket, 503, "closing");
    if (path !== CONNECT_PATH || request.headers.upgrade !== PROTOCOL) return refuse(socket, 404, "unknown");
    const proof = Object.entries(proveAnswer(keys, check.nonce)).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PROTOCOL}\r\n${proof.join("")}\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    const ends = {
      sealer: keys.sealer("answer", check.nonce),
      opener: keys.opener("request", check.nonce, MAX_MESSAGE_BYTES),
    };
    const connection = new InternalConnection(socket, ends, begin);
    connections.add(connection);
    connection.onClose(() => connections.delete(connection));
  };

  const begin = (exchange: InternalExchange, name: string, connection: InternalConnection) => {
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (!handler || (isFinishing && name !== keptName)) {
      count(handler ? "closing" : "unknown");
      return connection.destroy();
    }
    const served = handler(exchange, exchange.lost).then(
      () => connection.finish(exchange),
      (error: unknown) => {
        if (!exchange.lost.aborted && !(error instanceof ExcursorError))
          log.warn({ cause: String(error) }, "cluster request");
        exchange.destroy();
      },
    );
    active.add(served);
    void served.then(() => active.delete(served));
  };

  const server = createServer({ headersTimeout: HEADERS_MS, requestTimeout: HEADERS_MS, keepAliveTimeout: 1000 });
  server.on("request", (request) => accept(request, request.socket, Buffer.alloc(0)));
  server.on("upgrade", (request, socket, head) => accept(request, socket as Socket, head));
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ port: options.port, host: options.host });
  await once(server, "listening").catch((cause: unknown) => {
    throw new ExcursorError("cluster_port", [options.port], { cause });
  });
  return {
    port: (server.address() as AddressInfo).port,
    refused,
    async finish(ms, kept) {
      isFinishing = true;
      keptName = kept?.name;
      for (const connection of connections) if (connection.isIdle) connection.destroy();
      await within(Promise.all([...active, kept?.until]), ms);
      keptName = undefined;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      for (const connection of connections) connection.destroy();
      await once(server, "close");
    },
  };
}
