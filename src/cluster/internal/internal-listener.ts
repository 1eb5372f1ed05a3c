import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ExcursorError } from "../../core/errors.ts";
import { within } from "../../core/within.ts";
import type { Log } from "../../observe/log.ts";
import type { ClusterKeys } from "./cluster-keys.ts";
import { InternalExchange, MAX_MESSAGE_BYTES } from "./internal-exchange.ts";
import { checkRequest, MAX_AGE_MS, PATH_PREFIX, proveAnswer } from "./internal-request.ts";
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
  /** Requests that were refused since the start, by reason. */
  readonly refused: ReadonlyMap<string, number>;
  /** Refuses new requests, and waits until those under way are answered, at most so long. */
  finish(ms: number): Promise<void>;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 4096;

const HEADERS_MS = 10_000;

/** Listens for the other gateways of the cluster. Nothing is read of a request that does not prove the secret. */
export async function listenInternally(options: InternalListenerOptions): Promise<InternalListener> {
  const { keys, tag, now, handlers, log } = options;
  const seen = new SeenNonces(2 * MAX_AGE_MS);
  const refused = new Map<string, number>();
  const active = new Set<Promise<void>>();
  let isFinishing = false;

  const refuse = (response: ServerResponse, status: number, reason: string) => {
    refused.set(reason, (refused.get(reason) ?? 0) + 1);
    response.writeHead(status, { connection: "close", "content-type": "application/json" });
    response.end(JSON.stringify({ error: { code: `cluster_${reason}` } }));
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "";
    const check = checkRequest(keys, request.headers, { path, to: tag, nowMs: now(), seen });
    if (check.type === "refused") {
      log.warn(
        { reason: check.reason, peer: request.socket.remoteAddress },
        "A request to the cluster's port is refused.",
      );
      return refuse(response, 401, check.reason);
    }
    if (isFinishing) return refuse(response, 503, "closing");
    const name = path.startsWith(PATH_PREFIX) ? path.slice(PATH_PREFIX.length) : "";
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (!handler || request.method !== "POST") return refuse(response, 404, "unknown");
    const lost = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) lost.abort();
    });
    response.writeHead(200, proveAnswer(keys, check.nonce));
    // The other gateway waits for the proof before it sends more than the first message.
    response.flushHeaders();
    const exchange = new InternalExchange(async () => request, response, {
      sealer: keys.sealer("answer", check.nonce),
      opener: keys.opener("request", check.nonce, MAX_MESSAGE_BYTES),
    });
    await handler(exchange, lost.signal);
    // Before the end of the request the connection cannot be used again.
    if (!request.readableEnded) await once(request.resume(), "end", { signal: lost.signal });
    response.end();
  };

  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: 0, keepAliveTimeout: 30_000, noDelay: true },
    (request, response) => {
      response.on("error", () => {});
      request.on("error", () => {});
      const served = serve(request, response).catch((error: unknown) => {
        if (!response.destroyed && !(error instanceof ExcursorError))
          log.warn({ cause: String(error) }, "cluster request");
        response.destroy();
      });
      active.add(served);
      void served.then(() => active.delete(served));
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ port: options.port, host: options.host });
  await once(server, "listening").catch((cause: unknown) => {
    throw new ExcursorError("config", `cluster.advertise: the port ${options.port} cannot be opened.`, {
      code: "cluster_port",
      hint: "Another program may use it. Choose another port in the URL of `cluster.advertise`.",
      cause,
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    refused,
    async finish(ms) {
      isFinishing = true;
      await within(Promise.all(active), ms);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
