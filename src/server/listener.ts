import { createServer, type IncomingMessage, type RequestListener, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Limits } from "../config/limits.ts";
import { ExcursorError } from "../core/errors.ts";
import { ConnectionLimit, type ConnectionUse } from "./connections.ts";
import type { ParserError } from "./unreadable-request.ts";

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** A Unix socket or a named pipe, instead of host and port. */
  readonly path?: string;
  readonly limits: Limits;
  readonly onRequest: RequestListener;
  /** Called with a request for a WebSocket, and the bytes that came after its headers. Absent: `onRequest` gets it. */
  readonly onWebSocket?: (request: IncomingMessage, response: ServerResponse, head: Buffer) => void;
  /** Answers, or closes, a connection with a request that the parser refuses. Absent: Node does, without a body. */
  readonly onUnreadable?: (error: ParserError, socket: Socket) => void;
  readonly onConnection?: (socket: Socket) => void;
  readonly use: ConnectionUse;
}

/** Requests that a connection may pipeline. No known client pipelines, and each one costs memory until its turn. */
const MAX_PIPELINED = 128;

/** How late the header and request timeouts may fire. */
const MAX_CHECK_MS = 5000;

/** Listens for HTTP/1.1 with strict parsing and all limits that Node enforces. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { limits, onRequest, onWebSocket, onUnreadable, use } = options;
  const server = createServer({
    // Before Node 24.9, requests for other protocols come as upgrades, too. They are answered all the same.
    ...{ shouldUpgradeCallback: asksForWebSocket },
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs,
    connectionsCheckingInterval: Math.min(MAX_CHECK_MS, limits.headersTimeoutMs),
    // Longer than clients keep idle connections, so that they close first and never send into a closing one.
    keepAliveTimeout: limits.idleConnectionMs,
    highWaterMark: limits.writeBufferBytes,
    insecureHTTPParser: false,
    // The gate checks it, and answers in the caller's dialect.
    requireHostHeader: false,
  });
  // Node must not drop headers: the gate refuses requests with too many.
  server.maxHeadersCount = 0;
  const connections = new ConnectionLimit(limits.connections, use);
  server.on("connection", (socket: Socket) => {
    options.onConnection?.(socket);
    connections.add(socket);
  });
  // A client that has closed its side still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  // With `Expect: 100-continue` the gate decides before the client sends the body.
  const inTurn = answerInTurn(onRequest);
  server.on("request", inTurn).on("checkContinue", inTurn);
  if (onWebSocket) {
    server.on("upgrade", (request, socket, head) => onWebSocket(request, responseOn(socket as Socket, request), head));
  }
  if (onUnreadable) server.on("clientError", (error, socket) => onUnreadable(error, socket as Socket));
  await bind(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

const asksForWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" && headers.upgrade?.toLowerCase() === "websocket";

/** Returns a response for a request whose socket Node has handed over. The socket is closed after it. */
function responseOn(socket: Socket, request: IncomingMessage): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  // Node has removed its own listeners. The close event follows.
  socket.on("error", () => {});
  return response;
}

/**
 * Delays pipelined requests until the answer before them is sent, so that none are processed for a client that is gone.
 * Those of a closed connection are dropped.
 */
function answerInTurn(onRequest: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    // Node assigns the socket when it is the response's turn.
    if (response.socket) {
      onRequest(request, response);
      return;
    }
    const { socket } = request;
    const ahead = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, ahead);
    if (ahead > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      if (!socket.destroyed) onRequest(request, response);
    });
  };
}

function bind(server: Server, { host, port, path }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(listenError(error, path ?? host, port));
    server.once("error", onError);
    server.listen(path === undefined ? { host, port } : { path }, () => {
      server.off("error", onError);
      resolve();
    });
  });
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): ExcursorError {
  if (error.code === "EADDRINUSE") {
    return new ExcursorError("port_taken", `Port ${port} is already in use.`, {
      hint: "The gateway may already be running. Choose another port with --port N, or a free one with --port 0.",
      cause: error,
    });
  }
  return new ExcursorError("listen_failed", [host, port, error.code ?? error.message], { cause: error });
}
