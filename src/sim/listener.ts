import { createServer as createHttp1Server, type RequestListener } from "node:http";
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2Session,
  type ServerOptions,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { ExcursorError } from "../core/errors.ts";
import { Exchange } from "./exchange.ts";
import type { ResetCounter } from "./reset-counter.ts";

export interface Listener {
  readonly port: number;
  /** Stops accepting, sends GOAWAY on HTTP/2, and resolves when the last request is over. */
  close(): Promise<void>;
  destroy(): void;
}

export interface ListenOptions {
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Watches plain HTTP/2 connections. */
  readonly resets?: ResetCounter | undefined;
  readonly onExchange: (exchange: Exchange) => void;
}

const HTTP2: ServerOptions = {
  // How many runs a client may have on one session.
  settings: { maxConcurrentStreams: 1000, initialWindowSize: 1 << 20 },
};

/**
 * Idle connections stay open longer than clients keep theirs. With Node's default of five seconds, a busy client would
 * write into a connection that was just closed, and not all clients retry.
 */
const HTTP1 = { keepAliveTimeout: 65_000 } as const;

/** No HTTP/1.1 method begins like the HTTP/2 preface. */
const isHttp2Preface = (first: Buffer): boolean => first.subarray(0, 3).equals(Buffer.from("PRI"));

/**
 * Listens on loopback for HTTP/1.1 and HTTP/2 on one port, because clients send both to the same origin. Uses ALPN with
 * TLS, and the first bytes without.
 */
export async function listen({ port, tls, resets, onExchange }: ListenOptions): Promise<Listener> {
  const onRequest: RequestListener = (request, response) => onExchange(new Exchange(request, response));
  const sockets = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  const http1 = createHttp1Server({ ...HTTP1, requestTimeout: 0, headersTimeout: 15_000 }, onRequest);
  const http2 = tls ? createTlsServer(tls, onRequest) : createHttp2Server(HTTP2, onRequest as never);
  // This server never listens itself, but it checks idle connections and slow headers only after this event.
  http1.emit("listening");
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {}).on("close", () => sessions.delete(session));
  });
  http2.on("sessionError", () => {});

  const server: Server = tls
    ? (http2 as unknown as Server)
    : createTcpServer({ noDelay: true }, (socket) => {
        let head = Buffer.alloc(0);
        const sniff = () => {
          for (let chunk = socket.read(); chunk; chunk = socket.read()) head = Buffer.concat([head, chunk]);
          if (head.length < 3) return;
          socket.off("readable", sniff);
          socket.unshift(head);
          if (!isHttp2Preface(head)) http1.emit("connection", socket);
          else if (!resets) http2.emit("connection", socket);
          else {
            let session: Http2Session | undefined;
            http2.once("session", (opened) => {
              session = opened;
            });
            http2.emit(
              "connection",
              resets.watch(socket, () => session),
            );
          }
        };
        socket.on("readable", sniff);
      });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, port)));
    server.listen(port, "127.0.0.1", resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      http1.close();
      // A connection without any data belongs to neither server.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      return closed;
    },
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function createTlsServer(tls: { readonly cert: string; readonly key: string }, onRequest: RequestListener) {
  try {
    return createSecureServer({ ...HTTP2, ...HTTP1, ...tls, allowHTTP1: true }, onRequest as never);
  } catch (error) {
    throw new ExcursorError("config", "The certificate and key of --tls-cert and --tls-key cannot be used.", {
      code: "bad_certificate",
      hint: "Both must be PEM files, and the key must belong to the certificate.",
      cause: error,
    });
  }
}

function listenError(error: NodeJS.ErrnoException, port: number): ExcursorError {
  if (error.code === "EADDRINUSE") {
    return new ExcursorError("busy", `Port ${port} is already in use.`, {
      code: "port_taken",
      hint: "Choose another port with --port N, or a free one with --port 0.",
      cause: error,
    });
  }
  return new ExcursorError("config", `Cannot listen on port ${port}: ${error.code ?? error.message}.`, {
    code: "listen_failed",
    hint: "Ports below 1024 may need administrator rights. --port 0 picks a free port.",
    cause: error,
  });
}
