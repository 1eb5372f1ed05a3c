import type { Driver } from "../../../../src/core/driver.ts";
import { createEngine } from "../../../../src/core/engine/engine.ts";
import { CANCELED } from "../../../../src/core/errors.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { JsonObject, Turn } from "../../../../src/core/turn.ts";

export const call = (id: string, name: string, args: JsonObject): TurnEvent => ({ type: "tool-call", id, name, args });
export const say = (text: string): TurnEvent => ({ type: "text", text });
export const STOP: TurnEvent = { type: "done", reason: "stop" };
export const CALLS: TurnEvent = { type: "done", reason: "tool-calls" };

export const MODEL = {
  id: "m",
  displayName: "M",
  aliases: [],
  contextTokens: 1000,
  supportsImages: true,
  isThinking: true,
  efforts: [],
};

/** An engine whose model answers by a function of the turn. Each turn is a run of its own. */
export function engineWith(answer: (turn: Turn, nth: number) => readonly TurnEvent[] | Promise<readonly TurnEvent[]>) {
  const turns: Turn[] = [];
  const driver: Driver = {
    listModels: () => Promise.resolve([MODEL]),
    open: (turn) => {
      turns.push(turn);
      const nth = turns.length - 1;
      const { promise: cancelled, reject } = Promise.withResolvers<never>();
      cancelled.catch(() => {});
      return {
        submitResults: () => false,
        cancel: () => reject(CANCELED),
        async *[Symbol.asyncIterator]() {
          yield await Promise.race([answer(turn, nth), cancelled]);
        },
      };
    },
  };
  const engine = createEngine({
    drivers: new Map([["d", driver]]),
    route: (model) => (model === "m" ? "d" : undefined),
  });
  return { engine, turns };
}
