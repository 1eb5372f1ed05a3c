import type { ModelInfo } from "../core/driver.ts";
import type { Engine } from "../core/engine/engine.ts";
import { closestPattern } from "../core/models/model-pattern.ts";

/** The engine, with the user's own names for models; a name may end in a `*`, and may stand for another of them. */
export function withAliases(engine: Engine, aliases: ReadonlyMap<string, string>): Engine {
  if (aliases.size === 0) return engine;
  const meaningOf = (name: string) => aliasMeaning(aliases, name);
  return {
    ...engine,
    run: (turn, context) => {
      const id = meaningOf(turn.model.id);
      return engine.run(id === turn.model.id ? turn : { ...turn, model: { ...turn.model, id } }, context);
    },
    findModel: (name, principal, signal) => engine.findModel(meaningOf(name), principal, signal),
    listModels: async (principal, signal) => {
      const models = await engine.listModels(principal, signal);
      const own = [...aliases.keys()].filter((name) => !name.endsWith("*"));
      return models.map((model) => {
        // The user may also have given one of the model's names to another.
        const names = [...own, ...model.aliases].filter((name) => isNameOf(model, meaningOf(name)));
        return { ...model, aliases: [...new Set(names)] };
      });
    },
  };
}

/** What a name stands for in the end; a name that is no alias stands for itself. */
export function aliasMeaning(aliases: ReadonlyMap<string, string>, name: string, seen: readonly string[] = []): string {
  const pattern = closestPattern(aliases.keys(), name);
  const meant = aliases.get(pattern ?? "");
  // `gpt*` may stand for one whose name begins like that.
  if (pattern === undefined || meant === undefined || seen.includes(pattern)) return name;
  return aliasMeaning(aliases, meant, [...seen, pattern]);
}

const isNameOf = ({ id, aliases }: ModelInfo, name: string): boolean => id === name || aliases.includes(name);
