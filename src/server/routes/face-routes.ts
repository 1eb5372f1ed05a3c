import type { CallRoute, FaceContext, FaceModule, FaceRequest } from "../../faces/shared/face-module.ts";
import type { GatewayExchange } from "../gateway-exchange.ts";
import { readJson } from "../read-json.ts";
import { passRoute } from "./pass-route.ts";
import { requestContext } from "./request-context.ts";
import type { PathParameters, Route } from "./route.ts";
import { type SocketService, socketRoute } from "./socket-route.ts";
import { type TurnService, turnRoute } from "./turn-route.ts";

type Service = Omit<TurnService, "images"> & { readonly socketService: SocketService | undefined };

export const faceRoutes = (module: FaceModule, context: FaceContext, service: Service): readonly Route[] =>
  module.routes(context).map((route) => {
    const turns = { ...service, images: context.images };
    switch (route.type) {
      case "turn":
        return turnRoute({ ...turns, module, path: route.path, face: route.face });
      case "pass":
        return passRoute(module, route, turns);
      case "socket":
        return socketRoute(module, route, turns, service.socketService);
      case "call":
        return callRoute(module, route, context, service);
      default:
        return route satisfies never;
    }
  });

function callRoute(module: FaceModule, route: CallRoute, { images }: FaceContext, { limits }: Service): Route {
  const { method, path, isOpen = false } = route;
  const readRequest = async (exchange: GatewayExchange, parameters: PathParameters): Promise<FaceRequest> => ({
    ...requestContext(exchange, parameters, images),
    body: method === "POST" ? await readJson(exchange, limits) : undefined,
    signal: exchange.signal,
    get principal() {
      return exchange.asker;
    },
  });
  return {
    method,
    path,
    isOpen,
    face: module,
    async handle(exchange, parameters) {
      const { status = 200, body } = await route.handle(await readRequest(exchange, parameters));
      exchange.reply(status, body);
    },
  };
}
