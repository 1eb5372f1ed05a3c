import type { ModelInfo } from "../../core/driver.ts";
import type { Engine } from "../../core/engine/engine.ts";
import { closestPattern } from "../../core/models/model-pattern.ts";
import type { Turn } from "../../core/turn.ts";

/** Wraps the engine with the user's aliases of models. An alias may end in `*`, and may stand for another alias. */
export function withAliases(engine: Engine, aliases: ReadonlyMap<string, string>): Engine {
  if (aliases.size === 0) return engine;
  const meaningOf = (name: string) => aliasMeaning(aliases, name);
  const meant = (turn: Turn): Turn => {
    const id = meaningOf(turn.model.id);
    return id === turn.model.id ? turn : { ...turn, model: { ...turn.model, id } };
  };
  return {
    ...engine,
    run: (turn, context) => engine.run(meant(turn), context),
    passOn: (request, context) => engine.passOn({ ...request, model: meaningOf(request.model) }, context),
    findModel: (name, principal, signal) => engine.findModel(meaningOf(name), principal, signal),
    listModels: async (principal, signal) => {
      const models = await engine.listModels(principal, signal);
      const own = [...aliases.keys()].filter((name) => !name.endsWith("*"));
      return models.map((model) => {
        // An alias may have the name of a model and stand for another one: that name is not the model's any more.
        const names = [...own, ...model.aliases].filter((name) => isNameOf(model, meaningOf(name)));
        return { ...model, aliases: [...new Set(names)] };
      });
    },
  };
}

/** Follows aliases to the end. A name that is no alias is returned as it is. */
export function aliasMeaning(aliases: ReadonlyMap<string, string>, name: string, seen: readonly string[] = []): string {
  const pattern = closestPattern(aliases.keys(), name);
  const meant = aliases.get(pattern ?? "");
  // An alias such as `gpt*` may stand for a name that it matches itself; it is followed once.
  if (pattern === undefined || meant === undefined || seen.includes(pattern)) return name;
  return aliasMeaning(aliases, meant, [...seen, pattern]);
}

const isNameOf = ({ id, aliases }: ModelInfo, name: string): boolean => id === name || aliases.includes(name);
