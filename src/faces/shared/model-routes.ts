import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { CallRoute, FaceEngine, FaceRequest } from "./face-module.ts";

export interface ModelRenderer {
  /** `query` may ask for a page. */
  list(models: readonly ModelInfo[], query: URLSearchParams): JsonObject;
  one(model: ModelInfo): JsonObject;
}

/** Returns the routes `GET path` and `GET path/{id}`. The id may be any name that a request may use. */
export function modelRoutes(path: string, engine: FaceEngine, render: ModelRenderer): readonly CallRoute[] {
  return [
    {
      type: "call",
      method: "GET",
      path,
      handle: async ({ principal, signal, query }) => ({
        body: render.list(await engine.listModels(principal, signal), query),
      }),
    },
    {
      type: "call",
      method: "GET",
      path: `${path}/{id}`,
      handle: async (request) => ({ body: render.one(await findModel(engine, request.path["id"] ?? "", request)) }),
    },
  ];
}

/** Finds a model by any name that a request may use. Throws `model-not-found`. */
export async function findModel(
  engine: FaceEngine,
  id: string,
  { principal, signal }: Pick<FaceRequest, "principal" | "signal">,
): Promise<ModelInfo> {
  const models = await engine.listModels(principal, signal);
  const listed = models.find((info) => info.id === id || info.aliases.includes(id));
  return listed ?? { ...(await engine.findModel(id, principal, signal)), id };
}
