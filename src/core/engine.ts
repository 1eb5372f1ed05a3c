import { AnswerStream, type Stage } from "./answer-stream.ts";
import type { Driver, ModelInfo, RunContext } from "./driver.ts";
import { ExcursorError } from "./errors.ts";
import type { TurnEvent } from "./events.ts";
import { hasOutputLimits, OutputLimit } from "./limit-output.ts";
import { LiveRun } from "./live-run.ts";
import { Parking, type ParkingLimits } from "./parking.ts";
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
  /** Gives up the runs that wait for tool results. */
  close(): void;
}

export interface EngineOptions {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The name of the driver that answers for a model; undefined if nobody does. */
  readonly route: (model: string) => string | undefined;
  /** How many runs may wait for tool results, and for how long. */
  readonly parking?: ParkingLimits;
}

export function createEngine({ drivers, route, parking: limits }: EngineOptions): Engine {
  const parking = new Parking(limits);
  const driverFor = (model: string): Driver => {
    const driver = drivers.get(route(model) ?? "");
    if (driver) return driver;
    throw new ExcursorError("model-not-found", `There is no model ${JSON.stringify(model)} here.`, { field: "model" });
  };
  const resume = (turn: Turn): LiveRun | undefined => {
    const parked = parking.take(turn);
    if (parked?.live.answer(parked.results, turn.messages)) return parked.live;
    // It died while it waited.
    parked?.live.cancel();
    return undefined;
  };
  const open = (turn: Turn, context: RunContext): AsyncIterable<readonly TurnEvent[]> =>
    new AnswerStream({
      resume: () => resume(turn),
      start: () =>
        new LiveRun((signal) => driverFor(turn.model.id).open(turn, { requestId: context.requestId, signal })),
      stages: stagesFor(turn),
      signal: context.signal,
      onWaiting: (live, answer) => parking.park(live, turn, answer),
      mayWait: turn.tools.length > 0,
    });
  return {
    answer: (turn, context) =>
      turn.output.type === "text" ? open(turn, context) : answerInJson(turn, (asked) => open(asked, context)),
    listModels: async (principal, signal) => {
      const lists = [...drivers.values()].map((driver) => driver.listModels(principal, signal));
      return (await Promise.all(lists)).flat();
    },
    close: () => parking.close(),
  };
}

const stagesFor = (turn: Turn): readonly Stage[] =>
  hasOutputLimits(turn) ? [new OutputLimit(turn), new UsageEstimate(turn)] : [new UsageEstimate(turn)];
