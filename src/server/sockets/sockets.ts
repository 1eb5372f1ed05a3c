import { type WebSocket, WebSocketServer } from "ws";
import { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";
import type { Seats } from "../gate/seats.ts";
import type { GatewayExchange } from "../gateway-exchange.ts";
import { Refusal } from "../refusal.ts";
import { SocketConnection, type SocketConnectionOptions } from "./socket-connection.ts";

/** The open WebSockets of a listener. */
export class Sockets {
  readonly #seats: Seats;
  readonly #open = new Set<SocketConnection>();
  #isLeaving = false;

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  /** Accepts an upgrade that has passed the gate. Throws a {@link Refusal}, which is answered over HTTP. */
  async accept(options: SocketConnectionOptions): Promise<void> {
    const { exchange, principal, limits } = options;
    const { unverified, signal } = exchange;
    // The library reads a whole message before anybody can look at it.
    const isKnown = !unverified || (await unverified.verify(signal));
    const leave = this.#seats.take(principal.id);
    let webSocket: WebSocket;
    try {
      signal.throwIfAborted();
      webSocket = upgrade(exchange, isKnown ? limits.bodyBytes : unverified.maxBodyBytes);
    } catch (error) {
      leave();
      throw error;
    }
    const connection = new SocketConnection(webSocket, options);
    this.#open.add(connection);
    connection.onClose(() => {
      this.#open.delete(connection);
      leave();
    });
    if (this.#isLeaving) connection.leave();
  }

  /** Closes idle connections, and the others after their current answer. */
  leave(): void {
    this.#isLeaving = true;
    for (const connection of this.#open) connection.leave();
  }

  revoke(isRevoked: (principal: Principal) => boolean): void {
    for (const connection of this.#open) if (isRevoked(connection.principal)) connection.revoke();
  }

  terminate(): void {
    for (const connection of this.#open) connection.terminate();
  }
}

function upgrade(exchange: GatewayExchange, maxPayload: number): WebSocket {
  const { request, upgradeHead, id } = exchange;
  if (!upgradeHead) throw upgradeRequired();
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload });
  let problem = "";
  server.on("wsClientError", (error) => {
    problem = error.message;
  });
  server.on("headers", (headers) => headers.push(`x-request-id: ${id}`));
  let accepted: WebSocket | undefined;
  // It calls back at once, or not at all.
  server.handleUpgrade(request, request.socket, upgradeHead, (webSocket) => {
    accepted = webSocket;
  });
  if (problem !== "") throw badHandshake(problem);
  if (!accepted) throw new ExcursorError("canceled", "The client closed the connection.");
  exchange.switchProtocols();
  return accepted;
}

/** The answer where there is no WebSocket. Only with 426 do clients fall back to HTTP without a delay. */
export const upgradeRequired = (): Refusal =>
  new Refusal(426, "upgrade_required", [], { headers: { upgrade: "websocket", connection: "Upgrade" } });

const badHandshake = (problem: string): Refusal => new Refusal(400, "bad_handshake", [problem]);
