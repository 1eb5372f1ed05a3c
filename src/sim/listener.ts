import { createSecureServer, type Http2Server, type ServerOptions } from "node:http2";
import { ExcursorError } from "../core/errors.ts";
import { listenForBoth, type ServerListener } from "../wire/http/server-listener.ts";
import type { ResetCounter } from "./reset-counter.ts";
import { SimExchange } from "./sim-exchange.ts";

export interface ListenOptions {
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Watches the plain HTTP/2 connections. */
  readonly resets?: ResetCounter | undefined;
  readonly onExchange: (exchange: SimExchange) => void;
}

const HTTP2: ServerOptions = {
  // As many runs as a session may hold before a client must open another.
  settings: { maxConcurrentStreams: 1000, initialWindowSize: 1 << 20 },
};

/**
 * Idle connections stay for longer than clients keep theirs. Node's own five seconds are less than a busy one may take
 * to come back: it would write into a connection that has just been closed, and not all try again.
 */
const HTTP1 = { keepAliveTimeout: 65_000 } as const;

/** Listens on loopback. */
export async function listen({ port, tls, resets, onExchange }: ListenOptions): Promise<ServerListener> {
  try {
    return await listenForBoth({
      host: "127.0.0.1",
      port,
      http1: { ...HTTP1, requestTimeout: 0, headersTimeout: 15_000 },
      http2: HTTP2,
      createTlsServer: tls && (() => createTlsServer(tls)),
      watchHttp2: resets && ((socket, session) => resets.watch(socket, session)),
      onRequest: (request, response) => onExchange(new SimExchange(request, response)),
    });
  } catch (error) {
    throw error instanceof ExcursorError ? error : listenError(error as NodeJS.ErrnoException, port);
  }
}

function createTlsServer(tls: { readonly cert: string; readonly key: string }): Http2Server {
  try {
    return createSecureServer({ ...HTTP2, ...HTTP1, ...tls, allowHTTP1: true });
  } catch (error) {
    throw new ExcursorError("bad_certificate", [], { cause: error });
  }
}

function listenError(error: NodeJS.ErrnoException, port: number): ExcursorError {
  if (error.code === "EADDRINUSE") {
    return new ExcursorError("port_taken", `Port ${port} is already in use.`, {
      hint: "Choose another port with --port N, or --port 0 to have one picked.",
      cause: error,
    });
  }
  return new ExcursorError("listen_failed", `Cannot listen on port ${port}: ${error.code ?? error.message}.`, {
    hint: "Ports below 1024 need rights; --port 0 picks a free one.",
    cause: error,
  });
}
