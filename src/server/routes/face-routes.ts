import type { CallRoute, FaceContext, FaceModule, FaceRequest } from "../../faces/shared/face-module.ts";
import type { GatewayExchange } from "../exchange.ts";
import { readJson } from "../read-json.ts";
import { requestContext } from "./request-context.ts";
import type { PathParameters, Route } from "./route.ts";
import { type TurnRouteOptions, turnRoute } from "./turn-route.ts";

type Service = Omit<TurnRouteOptions, "path" | "face" | "module" | "images">;

export const faceRoutes = (module: FaceModule, context: FaceContext, service: Service): readonly Route[] =>
  module
    .routes(context)
    .map((route) =>
      route.type === "turn"
        ? turnRoute({ ...service, images: context.images, module, path: route.path, face: route.face })
        : callRoute(module, route, context, service),
    );

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
