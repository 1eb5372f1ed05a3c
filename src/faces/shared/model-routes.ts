import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { CallRoute, FaceEngine, FaceRequest } from "./face-module.ts";

export interface ModelRenderer {
  list(models: readonly ModelInfo[]): JsonObject;
  one(model: ModelInfo): JsonObject;
}

/** Returns the routes `GET path` and `GET path/{id}`. The id may be any name that a request may use. */
export function modelRoutes(path: string, engine: FaceEngine, render: ModelRenderer): readonly CallRoute[] {
  const list = ({ principal, signal }: FaceRequest) => engine.listModels(principal, signal);
  return [
    {
      type: "call",
      method: "GET",
      path,
      handle: async (request) => ({ body: render.list(await list(request)) }),
    },
    {
      type: "call",
      method: "GET",
      path: `${path}/{id}`,
      async handle(request) {
        const { id = "" } = request.path;
        const listed = (await list(request)).find((info) => info.id === id || info.aliases.includes(id));
        const model = listed ?? { ...(await engine.findModel(id, request.principal, request.signal)), id };
        return { body: render.one(model) };
      },
    },
  ];
}
