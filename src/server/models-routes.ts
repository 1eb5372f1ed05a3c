import type { ModelInfo } from "../core/driver.ts";
import { ExcursorError } from "../core/errors.ts";
import type { JsonObject, Principal } from "../core/turn.ts";
import type { Face } from "../faces/face.ts";
import type { Exchange } from "./exchange.ts";
import type { Route } from "./route.ts";

export interface ModelLister {
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
}

/** Models in the words of a dialect. */
export interface ModelRenderer {
  list(models: readonly ModelInfo[]): JsonObject;
  one(model: ModelInfo): JsonObject;
}

/** `GET path` and `GET path/{id}`; an id may also be one of a model's other names. */
export function modelsRoutes(path: string, face: Face, engine: ModelLister, render: ModelRenderer): readonly Route[] {
  const list = ({ principal, signal }: Exchange) => {
    if (!principal) throw new ExcursorError("internal", "The models were asked for by nobody.");
    return engine.listModels(principal, signal);
  };
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
        const model = (await list(exchange)).find((info) => info.id === id || info.aliases.includes(id));
        if (!model) throw new ExcursorError("model-not-found", "There is no model of that name.");
        exchange.reply(200, render.one(model));
      },
    },
  ];
}
