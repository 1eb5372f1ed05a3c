import type { Engine } from "../core/engine.ts";

/** The engine, with the user's own names for models. */
export function withAliases(engine: Engine, aliases: Readonly<Record<string, string>>): Engine {
  const own = new Map(Object.entries(aliases));
  if (own.size === 0) return engine;
  return {
    ...engine,
    answer: (turn, context) => {
      const id = own.get(turn.model.id);
      return engine.answer(id === undefined ? turn : { ...turn, model: { ...turn.model, id } }, context);
    },
    listModels: async (principal, signal) => {
      const models = await engine.listModels(principal, signal);
      const namesOf = (id: string) => [...own].flatMap(([name, meant]) => (meant === id ? [name] : []));
      return models.map((model) => ({ ...model, aliases: [...namesOf(model.id), ...model.aliases] }));
    },
  };
}
