import {
  createServer as createHttp1Server,
  type ServerOptions as Http1Options,
  type Server as Http1Server,
} from "node:http";
import {
  createServer as createHttp2Server,
  type ServerOptions as Http2Options,
  type Http2Server,
  type Http2Session,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ServerReply, ServerRequest } from "./server-exchange.ts";

/** A listener for HTTP/1.1 and HTTP/2 on one port. */
export interface ServerListener {
  readonly port: number;
  /** Returns the connection of a request, of either version. */
  socketOf(request: ServerRequest): Socket | undefined;
  /** Stops accepting, tells HTTP/2 peers to go away, and resolves when the last connection is closed. */
  close(): Promise<void>;
  /** Drops every connection at once. */
  destroy(): void;
}

export interface ServerListenerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly http1?: Http1Options;
  readonly http2?: Http2Options;
  /** Creates a server that speaks both by ALPN. Without it: plain text. */
  readonly createTlsServer?: (() => Http2Server) | undefined;
  /** Stands between a plain HTTP/2 connection and its session. */
  readonly watchHttp2?: ((socket: Socket, session: () => ServerHttp2Session | undefined) => Duplex) | undefined;
  /** Sees each connection first. One that it destroys is not served. */
  readonly onConnection?: ((socket: Socket) => void) | undefined;
  /** How long a connection may take for the bytes that tell its version. Default: any time. */
  readonly firstBytesMs?: number | undefined;
  readonly onRequest: (request: ServerRequest, response: ServerReply) => void;
}

/**
 * What one HTTP/2 connection may hold, such as messages that wait for their reader. Above it Node refuses new streams; its default
 * of 10 MB is less than one large blob.
 */
const SESSION_MEMORY_MB = 128;

/** No HTTP/1.1 method begins like the connection preface of HTTP/2. */
const isHttp2Preface = (first: Buffer): boolean => first.subarray(0, 3).equals(Buffer.from("PRI"));

/**
 * Listens for HTTP/1.1 and HTTP/2 on one port: with TLS by ALPN, without by looking at the first bytes, since clients of
 * Cursor's backend send both to the same plain origin. Rejects with Node's error if it cannot listen.
 */
export async function listenForBoth(options: ServerListenerOptions): Promise<ServerListener> {
  const { onRequest } = options;
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const socketOf = new WeakMap<Http2Session, Socket>();
  const http1 = createHttp1Server(options.http1 ?? {}, onRequest);
  const http2 =
    options.createTlsServer?.() ?? createHttp2Server({ maxSessionMemory: SESSION_MEMORY_MB, ...options.http2 });
  http2.on("request", onRequest);
  // It never listens itself, and watches its connections (idle ones, slow headers) only from then on.
  http1.emit("listening");
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {}).on("close", () => sessions.delete(session));
  });
  http2.on("sessionError", () => {});

  const server: Server = options.createTlsServer
    ? (http2 as unknown as Server)
    : createTcpServer({ noDelay: true }, (socket) => {
        options.onConnection?.(socket);
        if (socket.destroyed) return;
        const late = options.firstBytesMs && setTimeout(() => socket.destroy(), options.firstBytesMs).unref();
        void sniff(socket, http1, () => {
          let session: ServerHttp2Session | undefined;
          http2.once("session", (opened) => {
            session = opened;
            socketOf.set(opened, socket);
          });
          http2.emit("connection", options.watchHttp2 ? options.watchHttp2(socket, () => session) : socket);
        }).then(() => clearTimeout(late));
      });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    socketOf: (request) =>
      "stream" in request ? request.stream.session && socketOf.get(request.stream.session) : request.socket,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      http1.close();
      // A connection that never sent a request belongs to neither server.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      return closed;
    },
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Gives a connection to the server that speaks its version. Resolves when that is known. */
function sniff(socket: Socket, http1: Http1Server, toHttp2: () => void): Promise<void> {
  let head = Buffer.alloc(0);
  return new Promise((resolve) => {
    const onReadable = () => {
      for (let chunk = socket.read(); chunk; chunk = socket.read()) head = Buffer.concat([head, chunk]);
      if (head.length < 3) return;
      socket.off("readable", onReadable);
      socket.unshift(head);
      if (isHttp2Preface(head)) toHttp2();
      else http1.emit("connection", socket);
      resolve();
    };
    socket.on("readable", onReadable);
  });
}
