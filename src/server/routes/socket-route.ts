import type { FaceModule, SocketRoute } from "../../faces/shared/face-module.ts";
import type { SocketConnectionOptions } from "../sockets/socket-connection.ts";
import { type Sockets, upgradeRequired } from "../sockets/sockets.ts";
import type { Route } from "./route.ts";
import { answerTurn, type TurnService } from "./turn-route.ts";

export interface SocketService {
  readonly sockets: Sockets;
  readonly serve: SocketConnectionOptions["serve"];
}

/** Creates the route of a WebSocket. Without a service, WebSockets are off. */
export const socketRoute = (
  module: FaceModule,
  route: SocketRoute,
  turns: TurnService,
  service: SocketService | undefined,
): Route => ({
  method: "GET",
  path: route.path,
  face: module,
  // Its messages are recorded.
  isUnrecorded: true,
  async handle(exchange, parameters) {
    if (!service || !exchange.upgradeHead) throw upgradeRequired();
    const dialect = route.open();
    await service.sockets.accept({
      exchange,
      principal: { ...exchange.asker, isUnverified: false },
      face: module,
      dialect,
      limits: turns.limits,
      serve(message, answer) {
        message.notes.route = route.path;
        return service.serve(message, answer);
      },
      answer: (message, body) =>
        answerTurn(
          turns,
          dialect.face,
          { exchange: message, body, parameters },
          { openStream: () => message.openStream() },
        ),
    });
  },
});
