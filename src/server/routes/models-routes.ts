import type { ModelInfo } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { JsonObject, Principal } from "../../core/turn.ts";
import type { Face } from "../../faces/shared/face.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "./route.ts";

export interface ModelLister {
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Throws `model-not-found`. */
  findModel(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
}

/** Models in the words of a dialect. */
export interface ModelRenderer {
  list(models: readonly ModelInfo[]): JsonObject;
  one(model: ModelInfo): JsonObject;
}

/** `GET path` and `GET path/{id}`; an id may be any name that a request may have. */
export function modelsRoutes(path: string, face: Face, engine: ModelLister, render: ModelRenderer): readonly Route[] {
  const asker = ({ principal }: Exchange): Principal => {
    if (principal) return principal;
    throw new ExcursorError("internal", "The models were asked for by nobody.");
  };
  const list = (exchange: Exchange) => engine.listModels(asker(exchange), exchange.signal);
  return [
    {
      method: "GET",
      path,
      face,
      async handle(exchange) {
        exchange.reply(200, render.list(await list(exchange)));
      },
    },
    {
      method: "GET",
      path: `${path}/{id}`,
      face,
      async handle(exchange, id) {
        const listed = (await list(exchange)).find((info) => info.id === id || info.aliases.includes(id));
        const model = listed ?? { ...(await engine.findModel(id, asker(exchange), exchange.signal)), id };
        exchange.reply(200, render.one(model));
      },
    },
  ];
}
