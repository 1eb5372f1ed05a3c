import type { Driver, ModelInfo, RequestContext, SlashCommand } from "../driver.ts";
import { ExcursorError } from "../errors.ts";
import type { TurnEvent } from "../events.ts";
import type { HubAnswers } from "../hub/hub-answers.ts";
import { HubMemory } from "../hub/hub-memory.ts";
import { hubRun } from "../hub/hub-run.ts";
import type { ToolHub } from "../hub/tool-hub.ts";
import { answerWithCall, mustCall } from "../rules/forced-call.ts";
import { hasOutputLimits, OutputLimit } from "../rules/limit-output.ts";
import { answerInJson } from "../rules/structured-output.ts";
import { UsageEstimate } from "../rules/usage-estimate.ts";
import { samplingNames } from "../sampling.ts";
import type { SchemaChecker } from "../schema-checker.ts";
import type { Principal, Turn } from "../turn.ts";
import { AnswerStream, type Rule } from "./answer-stream.ts";
import type { CallLog, HubCallLog } from "./call-log.ts";
import { ignoredNotice } from "./ignored.ts";
import { LiveRun } from "./live-run.ts";
import { meteredRun } from "./metered-run.ts";
import { oneCallAtATime } from "./one-call-at-a-time.ts";
import { Parking, type ParkingLimits } from "./parking.ts";

/** Stands between faces and drivers: picks who answers, and keeps the promises that no upstream keeps for us. */
export interface Engine {
  /**
   * The answer in batches, never empty, ended by usage and one `done`. Errors come out of the iteration; leaving the
   * loop early cancels the upstream.
   */
  run(turn: Turn, context: RequestContext): AsyncIterable<readonly TurnEvent[]>;
  /** What the principal may ask for, of all drivers. */
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** The model of a name as a turn may have it. Throws `model-not-found`. */
  findModel(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
  /** What a model can be told by a slash. */
  listCommands(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
  /** Gives up the runs that wait for tool results. */
  close(): void;
}

export interface EngineOptions {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The name of the driver that answers for a model; undefined if nobody does. */
  readonly route: (model: string) => string | undefined;
  /** How many runs may wait for tool results, how much they may hold, and for how long. */
  readonly parking?: ParkingLimits;
  /** Told of everything that happens to a tool call. */
  readonly callLog?: CallLog;
  /** Told of everything that happens to a call of the hub's. */
  readonly hubCallLog?: HubCallLog;
  /** Tools that we run ourselves, for turns that want them. */
  readonly hub?: ToolHub | undefined;
  /** Where their calls and results are kept; without it they are forgotten with the run. */
  readonly hubAnswers?: HubAnswers;
  /** How many times in one answer a model may ask for those. */
  readonly maxHubSteps?: number;
  /** Checks answers against schemas of clients. Absent: turns that bring one are refused. */
  readonly schemas?: SchemaChecker;
}

const MAX_HUB_STEPS = 50;

export function createEngine(options: EngineOptions): Engine {
  const { drivers, route, parking: limits, callLog, hub, maxHubSteps = MAX_HUB_STEPS, schemas } = options;
  const parking = new Parking(limits, callLog);
  const memory = new HubMemory(options.hubAnswers);
  const driverFor = (model: string): Driver => {
    const driver = drivers.get(route(model) ?? "");
    if (driver) return driver;
    throw unknownModel(model);
  };
  const limitsOutput = (model: string) => drivers.get(route(model) ?? "")?.limitsOutput === true;
  const ignoredOf = ({ model, sampling }: Turn): readonly TurnEvent[] =>
    drivers.get(route(model.id) ?? "")?.takesSampling ? [] : samplingNames(sampling).map(ignoredNotice);
  const resume = (turn: Turn, context: RequestContext): LiveRun | undefined => {
    const found = parking.take(turn, context);
    if (found?.type === "run") {
      if (found.live.submitResults(found.results, turn.messages, context.elicit)) return found.live;
      found.live.cancel();
    }
    if (found) parking.replay(turn, context, found.type === "gone" ? found.reason : "died");
    return undefined;
  };
  /** What is asked may say more than the client did; what waits, waits for the client's own next request. */
  const open = (turn: Turn, context: RequestContext, asked = turn): AsyncIterable<readonly TurnEvent[]> =>
    new AnswerStream({
      resume: () => resume(turn, context),
      start: () =>
        new LiveRun((own, nameOf) => {
          const driver = driverFor(asked.model.id);
          const { requestId, tools, hops, onSpent } = context;
          const inside = { requestId, tools, hops, ...own };
          const openRun: Driver["open"] = (inner, innerContext) => {
            const run = driver.open(inner, innerContext);
            return onSpent ? meteredRun(run, inner, onSpent) : run;
          };
          // Who must call, or must not, is to call the client's.
          const isHubs = hub && tools === "hub" && asked.toolChoice.type === "auto";
          const run = isHubs
            ? hubRun({
                hub,
                memory,
                nameOf,
                turn: asked,
                context: inside,
                open: openRun,
                maxSteps: maxHubSteps,
                callLog: options.hubCallLog,
              })
            : openRun(asked, inside);
          return asked.allowsParallelCalls ? run : oneCallAtATime(run);
        }, context.elicit),
      first: turn.sampling ? ignoredOf(turn) : [],
      onStalled: () => parking.replay(turn, context, "stalled"),
      rules: stagesFor(limitsOutput(asked.model.id) ? { ...asked, maxOutputTokens: undefined } : asked),
      signal: context.signal,
      onWaiting: (live, answer) => parking.park(live, turn, answer, context),
      mayWait: turn.tools.length > 0,
    });
  return {
    run: (turn, context) => {
      const ask = (asked: Turn) => open(turn, context, asked);
      const { signal, requestId } = context;
      if (mustCall(turn)) {
        const onTextCall = (callId: string, tool: string) =>
          callLog?.({ type: "asked", callId, tool, principalId: turn.principal.id, requestId });
        return answerWithCall(turn, ask, { schemas, signal, onTextCall });
      }
      return turn.output.type === "text" ? open(turn, context) : answerInJson(turn, ask, { schemas, signal });
    },
    listModels: async (principal, signal) => {
      // What another driver answers for is its own to list.
      const lists = [...drivers].map(async ([name, driver]) =>
        (await driver.listModels(principal, signal)).filter(({ id }) => route(id) === name),
      );
      const settled = await Promise.allSettled(lists);
      const told = settled.flatMap((list) => (list.status === "fulfilled" ? [list.value] : []));
      // One upstream that is away hides its own models, and no others.
      if (told.length === 0) await Promise.all(lists);
      return told.flat();
    },
    findModel: async (name, principal, signal) => {
      const driver = driverFor(name);
      if (driver.findModel) return driver.findModel(name, principal, signal);
      const listed = (await driver.listModels(principal, signal)).find((model) => model.id === name);
      if (listed) return listed;
      throw unknownModel(name);
    },
    listCommands: async (model, principal) => (await driverFor(model).listCommands?.(model, principal)) ?? [],
    close: () => parking.close(),
  };
}

const unknownModel = (name: string): ExcursorError =>
  new ExcursorError("model-not-found", `There is no model ${JSON.stringify(name)} here.`, { field: "model" });

const stagesFor = (turn: Turn): readonly Rule[] =>
  hasOutputLimits(turn) ? [new OutputLimit(turn), new UsageEstimate(turn)] : [new UsageEstimate(turn)];
