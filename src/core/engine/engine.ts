import type { Awaitable } from "../awaitable.ts";
import type { Driver, ModelInfo, RequestContext, SlashCommand } from "../driver.ts";
import { ExcursorError } from "../errors.ts";
import type { TurnEvent } from "../events.ts";
import { asSent, createSentCalls, type SentCalls } from "../history/sent-calls.ts";
import type { HubAnswers } from "../hub/hub-answers.ts";
import { HubMemory } from "../hub/hub-memory.ts";
import type { ToolHub } from "../hub/tool-hub.ts";
import { LimitReached } from "../limits/limit-reached.ts";
import { ignoredNotice } from "../notices/ignored.ts";
import type { MeteredAnswer, PassedApi, PassedRequest } from "../passed-request.ts";
import { answerWithCall, mustCall } from "../rules/forced-call.ts";
import { hasOutputLimits, OutputLimit } from "../rules/limit-output.ts";
import { answerInJson } from "../rules/structured-output.ts";
import { UsageEstimate } from "../rules/usage-estimate.ts";
import { samplingNames } from "../sampling.ts";
import type { SchemaChecker } from "../schema-checker.ts";
import type { Principal, Turn } from "../turn.ts";
import { type Rule, streamAnswer } from "./answer-stream.ts";
import type { CallLog, HubCallLog } from "./call-log.ts";
import { ModelDirectory } from "./model-directory.ts";
import { type ParkedRunInfo, Parking, type ParkingLimits } from "./parking.ts";
import { type EngineParts, RequestRuns } from "./request-runs.ts";
import { passMetered } from "./run/metered-pass.ts";
import type { HubParts } from "./start-run.ts";

/** Stands between faces and drivers: finds the driver of a model, keeps runs that wait, and applies the rules of a turn. */
export interface Engine {
  /**
   * Answers a turn with batches of events, never empty, ended by usage and one `done`. Nothing happens before the first
   * batch is asked for. Errors are thrown out of the iteration; leaving the loop early cancels the run.
   */
  run(turn: Turn, context: RequestContext): AsyncIterable<readonly TurnEvent[]>;
  /** Passes a request on to the model's upstream. Throws `unsupported` if that has no such API. */
  passOn(
    request: PassedRequest,
    context: Pick<RequestContext, "signal" | "observer" | "meter">,
  ): Promise<MeteredAnswer>;
  /** Lists the models of all drivers that the principal may use. */
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Finds a model by any name that a turn may use. Throws `model-not-found`. */
  findModel(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
  /** Lists the slash commands of a model. */
  listCommands(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
  /** Returns figures for metrics. */
  stats(): EngineStats;
  /** Lists the runs that wait for tool results, oldest first. */
  parkedRuns(): readonly ParkedRunInfo[];
  /**
   * Cancels a parked run; its follow-up is replayed. Returns false if there is none of this id, or it is not the given
   * principal's.
   */
  dropRun(runId: string, principalId?: string): boolean;
  /** From now on no run is parked: each one that would wait for tool results is cancelled, and its follow-up replayed. */
  stopParking(): void;
  /** Cancels the parked runs. */
  close(): void;
}

export interface EngineStats {
  /** Runs that wait for tool results. */
  readonly parkedRuns: number;
  /** Their estimated memory. */
  readonly parkedBytes: number;
}

export interface EngineOptions {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** Returns the name of the driver that answers for a model; undefined if none does. */
  readonly route: (model: string) => string | undefined;
  readonly parking?: ParkingLimits;
  readonly callLog?: CallLog;
  readonly hubCallLog?: HubCallLog;
  /** The tools that the gateway runs itself, for requests that ask for them. */
  readonly hub?: ToolHub | undefined;
  /** Stores hub calls and their results. Absent: they are known only while the run lives. */
  readonly hubAnswers?: HubAnswers;
  /** Stores what is known of the calls that clients got. Absent: it is known as long as the process runs. */
  readonly sentCalls?: SentCalls;
  /** How many rounds of hub tools one answer may have. */
  readonly maxHubSteps?: number;
  /** Checks answers against the client's JSON schemas. Absent: turns with a schema are refused. */
  readonly schemas?: SchemaChecker;
}

const MAX_HUB_STEPS = 50;

export function createEngine(options: EngineOptions): Engine {
  const { callLog, schemas } = options;
  const models = new ModelDirectory(options.drivers, options.route);
  const parking = new Parking(options.parking, callLog);
  const { sentCalls = createSentCalls() } = options;
  const parts: EngineParts = { models, parking, sentCalls, hub: hubParts(options) };

  /** `asked` is the client's turn, perhaps with instructions that a rule has added. */
  const answer = (turn: Turn, asked: Turn, context: RequestContext): AsyncIterable<readonly TurnEvent[]> => {
    const driver = models.findDriver(asked.model.id);
    const refuse = (error: unknown): never => {
      if (error instanceof LimitReached) parking.refuse(turn, error.keepsRun);
      throw error;
    };
    const answered = () => stream(turn, asked, context, driver);
    let admitted: Awaitable<void>;
    try {
      admitted = context.observer?.served?.(asked.model.id, models.driverName(asked.model.id) ?? "");
    } catch (error) {
      return refuse(error);
    }
    if (!(admitted instanceof Promise)) return answered();
    return streamAfter(admitted.catch(refuse), answered);
  };

  const stream = (turn: Turn, asked: Turn, context: RequestContext, driver: Driver | undefined) =>
    streamAnswer(new RequestRuns(parts, turn, asked, context), {
      notices: driver?.takesSampling ? [] : samplingNames(turn.sampling).map(ignoredNotice),
      rules: rulesFor(asked, driver),
      signal: context.signal,
      observer: context.observer,
      mayWait: turn.tools.length > 0,
    });

  return {
    run(given, context) {
      const turn = asSent(given, sentCalls);
      const ask = (asked: Turn) => answer(turn, asked, context);
      const { signal, requestId } = context;
      if (mustCall(turn)) {
        const onTextCall = (callId: string, tool: string) =>
          callLog?.({ type: "asked", callId, tool, principalId: turn.principal.id, requestId });
        return answerWithCall(turn, ask, { schemas, signal, onTextCall });
      }
      return turn.output.type === "text" ? ask(turn) : answerInJson(turn, ask, { schemas, signal });
    },
    async passOn(request, { signal, observer, meter }) {
      const { model, api } = request;
      const driver = models.findDriver(model);
      if (!driver?.passOn) throw noSuchApi(model, api);
      await observer?.served?.(model, models.driverName(model) ?? "");
      return passMetered(driver.passOn(request, signal), request, { signal, meter });
    },
    listModels: (principal, signal) => models.listModels(principal, signal),
    findModel: (name, principal, signal) => models.findModel(name, principal, signal),
    listCommands: (model, principal) => models.listCommands(model, principal),
    stats: () => ({ parkedRuns: parking.size, parkedBytes: parking.bytes }),
    parkedRuns: () => parking.list(),
    dropRun: (...given) => parking.drop(...given),
    stopParking: () => parking.stopParking(),
    close: () => parking.close(),
  };
}

/** Streams an answer once the request is admitted. */
async function* streamAfter(
  admitted: Promise<void>,
  answer: () => AsyncIterable<readonly TurnEvent[]>,
): AsyncGenerator<readonly TurnEvent[]> {
  await admitted;
  yield* answer();
}

const noSuchApi = (model: string, api: PassedApi): ExcursorError =>
  new ExcursorError("no_upstream", [api, JSON.stringify(model), model], { field: "model" });

function hubParts({ hub, hubAnswers, hubCallLog, maxHubSteps = MAX_HUB_STEPS }: EngineOptions): HubParts | undefined {
  return hub && { hub, memory: new HubMemory(hubAnswers), maxSteps: maxHubSteps, callLog: hubCallLog };
}

/** Tokens are not counted here for a driver whose upstream does it. */
function rulesFor(turn: Turn, driver: Driver | undefined): readonly Rule[] {
  const limits = driver?.limitsOutput ? { ...turn, maxOutputTokens: undefined } : turn;
  return hasOutputLimits(limits) ? [new OutputLimit(limits), new UsageEstimate(turn)] : [new UsageEstimate(turn)];
}
