import { answeredByNotice } from "../core/engine/answered-by.ts";
import type { Engine } from "../core/engine/engine.ts";
import { ExcursorError } from "../core/errors.ts";
import type { TurnEvent } from "../core/events.ts";
import { isPublicName, nearestModel } from "../core/models/nearest-model.ts";
import type { Principal } from "../core/turn.ts";

export interface StandInOptions {
  /** Whether a name leads to Cursor: other upstreams know their names better than we do. */
  readonly isCursors: (name: string) => boolean;
  /** The user's model for names that nobody knows; without it, the model that comes closest to a public name. */
  readonly fallback: string | undefined;
}

/**
 * The engine, with another model in place of one that the account does not have. The answer begins with a notice that
 * names it. Names that resemble nothing stay unknown.
 */
export function withStandIns(engine: Engine, { isCursors, fallback }: StandInOptions): Engine {
  const mayNeedOne = (name: string): boolean => isCursors(name) && (fallback !== undefined || isPublicName(name));

  /** Undefined if the model is known, or nothing can take its place; what else is wrong is told by who answers. */
  const standInFor = async (name: string, principal: Principal, signal: AbortSignal): Promise<string | undefined> => {
    try {
      await engine.findModel(name, principal, signal);
      return undefined;
    } catch (error) {
      const { kind, code } = ExcursorError.from(error);
      // Without an account nothing is known of Cursor's models, but the user's own fallback still holds.
      const isUnknown = kind === "model-not-found" || (fallback !== undefined && code === "not_signed_in");
      if (!isUnknown) return undefined;
    }
    if (fallback !== undefined) return fallback;
    const models = await engine.listModels(principal, signal);
    return nearestModel(
      name,
      models.map(({ id }) => id),
    );
  };

  return {
    ...engine,
    run(turn, context) {
      if (!mayNeedOne(turn.model.id)) return engine.run(turn, context);
      return afterwards(async () => {
        const id = await standInFor(turn.model.id, turn.principal, context.signal).catch(() => undefined);
        if (id === undefined) return { first: [], rest: engine.run(turn, context) };
        const rest = engine.run({ ...turn, model: { ...turn.model, id } }, context);
        return { first: [answeredByNotice(id)], rest };
      });
    },
    async findModel(name, principal, signal) {
      const id = mayNeedOne(name) ? await standInFor(name, principal, signal).catch(() => undefined) : undefined;
      return engine.findModel(id ?? name, principal, signal);
    },
  };
}

interface LateAnswer {
  readonly first: readonly TurnEvent[];
  readonly rest: AsyncIterable<readonly TurnEvent[]>;
}

/** An answer that begins after something else is known. */
async function* afterwards(begin: () => Promise<LateAnswer>): AsyncGenerator<readonly TurnEvent[]> {
  const { first, rest } = await begin();
  if (first.length > 0) yield first;
  yield* rest;
}
