import { AnswerStream, type Stage } from "./answer-stream.ts";
import type { Driver, ModelInfo, RunContext } from "./driver.ts";
import { ExcursorError } from "./errors.ts";
import type { TurnEvent } from "./events.ts";
import { hasOutputLimits, OutputLimit } from "./limit-output.ts";
import { answerInJson } from "./structured-output.ts";
import type { Principal, Turn } from "./turn.ts";
import { UsageEstimate } from "./usage-estimate.ts";

/** Stands between faces and drivers: picks who answers, and keeps the promises that no upstream keeps for us. */
export interface Engine {
  /**
   * The answer in batches, never empty, ended by usage and one `done`. Errors come out of the iteration; leaving the
   * loop early cancels the upstream.
   */
  answer(turn: Turn, context: RunContext): AsyncIterable<readonly TurnEvent[]>;
  /** What the principal may ask for, of all drivers. */
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
}

export interface EngineOptions {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The name of the driver that answers for a model; undefined if nobody does. */
  readonly route: (model: string) => string | undefined;
}

export function createEngine({ drivers, route }: EngineOptions): Engine {
  const driverFor = (model: string): Driver => {
    const driver = drivers.get(route(model) ?? "");
    if (driver) return driver;
    throw new ExcursorError("model-not-found", `There is no model ${JSON.stringify(model)} here.`, { field: "model" });
  };
  const open = (turn: Turn, context: RunContext): AsyncIterable<readonly TurnEvent[]> =>
    new AnswerStream(() => driverFor(turn.model.id).open(turn, context), stagesFor(turn));
  return {
    answer: (turn, context) =>
      turn.output.type === "text" ? open(turn, context) : answerInJson(turn, (asked) => open(asked, context)),
    listModels: async (principal, signal) => {
      const lists = [...drivers.values()].map((driver) => driver.listModels(principal, signal));
      return (await Promise.all(lists)).flat();
    },
  };
}

const stagesFor = (turn: Turn): readonly Stage[] =>
  hasOutputLimits(turn) ? [new OutputLimit(turn), new UsageEstimate(turn)] : [new UsageEstimate(turn)];
