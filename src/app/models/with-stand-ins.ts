import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import { answeredByNotice } from "../../core/notices/answered-by.ts";
import type { Principal } from "../../core/turn.ts";
import { isPublicName, nearestModel } from "./nearest-model.ts";

export interface StandInOptions {
  /** Whether a name is routed to Cursor. Only Cursor's models get stand-ins. */
  readonly isCursors: (name: string) => boolean;
  /** The user's model for unknown names. Absent: the model that is closest to a well-known public name. */
  readonly fallback: string | undefined;
}

const MAX_SEEN = 1000;
const MAX_NAME = 256;

/**
 * Wraps the engine so that another model answers for one that the account does not have. The answer begins with a notice
 * that names the stand-in. A name that resembles no model stays unknown.
 */
export function withStandIns(engine: Engine, { isCursors, fallback }: StandInOptions): Engine {
  /** Names that were looked at; each request asks for one. */
  const seen = new Map<string, boolean>();
  const mayNeedOne = (name: string): boolean => {
    const known = seen.get(name);
    if (known !== undefined) return known;
    const answer = isCursors(name) && (fallback !== undefined || isPublicName(name));
    if (seen.size < MAX_SEEN && name.length < MAX_NAME) seen.set(name, answer);
    return answer;
  };

  /** Returns undefined if the model is known or has no stand-in. Other failures surface in the run itself. */
  const standInFor = async (name: string, principal: Principal, signal: AbortSignal): Promise<string | undefined> => {
    try {
      await engine.findModel(name, principal, signal);
      return undefined;
    } catch (error) {
      const { kind, code } = ExcursorError.from(error);
      // Without an account we cannot list Cursor's models, but the user's fallback still applies.
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
      return answerOf(async () => {
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

interface ChosenRun {
  readonly first: readonly TurnEvent[];
  readonly rest: AsyncIterable<readonly TurnEvent[]>;
}

async function* answerOf(choose: () => Promise<ChosenRun>): AsyncGenerator<readonly TurnEvent[]> {
  const { first, rest } = await choose();
  if (first.length > 0) yield first;
  yield* rest;
}
