import type { RequestContext, ToolSource } from "../../core/driver.ts";
import type { Engine } from "../../core/engine/engine.ts";
import type { Turn } from "../../core/turn.ts";

/** At the end of a model's name: the model with the hub's tools. */
const SUFFIX = ":hub";

/** Wraps the engine so that the request, the model's name or the settings, in this order, say whose tools a model may use. */
export function withToolSource(engine: Engine, usual: ToolSource): Engine {
  const chosen = (turn: Turn, context: RequestContext): [Turn, RequestContext] => {
    const { id } = turn.model;
    if (!id.endsWith(SUFFIX)) return [turn, { ...context, tools: context.tools ?? usual }];
    const model = { ...turn.model, id: id.slice(0, -SUFFIX.length) };
    return [
      { ...turn, model },
      { ...context, tools: context.tools ?? "hub" },
    ];
  };
  return {
    ...engine,
    findModel: (name, principal, signal) =>
      engine.findModel(name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name, principal, signal),
    run: (...asked) => engine.run(...chosen(...asked)),
  };
}
