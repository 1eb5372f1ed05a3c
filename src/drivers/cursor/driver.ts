import type { AccessTokens } from "../../core/access/access.ts";
import type { Driver } from "../../core/driver.ts";
import { RetryBudget } from "../../core/engine/run/retry-budget.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { CheckpointStore } from "../../core/history/checkpoints.ts";
import type { Turn } from "../../core/turn.ts";
import type { ClientHeaders } from "../../wire/agent/headers.ts";
import type { AccountCredential } from "../shared/account-credential.ts";
import { createOwners, renewedCredential, withCredential } from "../shared/account-credential.ts";
import { TIME_ZONE } from "../shared/time-zone.ts";
import { Endpoints } from "./account/endpoint.ts";
import type { CursorModels } from "./models/model.ts";
import { fitContext } from "./request/context-window.ts";
import { fitTools } from "./request/fit-tools.ts";
import { CursorRun } from "./run/cursor-run.ts";
import { EndingStreams } from "./run/ending-streams.ts";
import type { RunPlan } from "./run/run-plan.ts";
import type { Transports } from "./run/stream.ts";
import { UnknownTally } from "./run/unknown.ts";

export interface CursorDriverOptions {
  readonly origin: string;
  /** Overrides the backend's choice of the host for runs. */
  readonly agentOrigin?: string | undefined;
  readonly transports: Transports;
  readonly transport: "auto" | "h2" | "h1";
  readonly models: CursorModels;
  readonly checkpoints: CheckpointStore;
  readonly access: AccessTokens;
  readonly client?: ClientHeaders;
  /** What to do if a conversation exceeds the model's context window. */
  readonly context: "refuse" | "trim";
  /** Called for each thing that the schema does not know: the first time, and at every power of ten. */
  readonly onUnknown: (what: string, count: number) => void;
  /** Called if the backend reports an error after a client has its whole answer. */
  readonly onLateError: (requestId: string, error: ExcursorError) => void;
  /** Called for each tool that the backend cannot take, with every turn that offers it. */
  readonly onToolLeftOut: (name: string) => void;
}

/** Creates the driver for Cursor's agent protocol. */
export function createCursorDriver(options: CursorDriverOptions): Driver {
  const { origin, transports, models, checkpoints, access, client } = options;
  const endpoints = new Endpoints({
    origin,
    agentOrigin: options.agentOrigin,
    http1: transports.h1,
    transport: options.transport,
  });
  const ownerOf = createOwners();
  const retries = new RetryBudget();
  const unknown = new UnknownTally(options.onUnknown);
  const endingStreams = new EndingStreams();
  const callerOf = ({ token }: AccountCredential) => ({ token: token.reveal(), timezone: TIME_ZONE, ...client });
  const planTurn = async (turn: Turn, credential: AccountCredential): Promise<RunPlan> => {
    const caller = callerOf(credential);
    const [model, endpoint] = await Promise.all([
      models.resolve(turn.model, credential),
      endpoints.find(credential.id, caller),
    ]);
    const owner = ownerOf(turn.principal, credential);
    return { credential, caller, endpoint, model, owner, ...fitContext(turn, model, options.context) };
  };
  return {
    countsWholeRuns: true,
    open(given, context) {
      const { principal } = given;
      const { tools, leftOut, fault } = fitTools(given.tools);
      for (const { name } of leftOut) options.onToolLeftOut(name);
      const turn = { ...given, tools };
      retries.earn();
      const planFor = (credential: AccountCredential) => planTurn(turn, credential);
      const run = new CursorRun({
        turn,
        context,
        transports,
        checkpoints,
        unknown,
        onLateError: options.onLateError,
        retries,
        endingStreams,
        renew: async ({ credential }) => {
          const renewed = await renewedCredential(principal, access, credential);
          return renewed && planFor(renewed);
        },
        onEncoding: (baseId, kind) => models.remember(baseId, kind),
      });
      void run.start(fault ? Promise.reject(fault) : withCredential(principal, access, planFor));
      return run;
    },
    findModel: (name, principal) => withCredential(principal, access, (credential) => models.find(name, credential)),
    listModels: (principal, signal) =>
      withCredential(principal, access, (credential) => models.list(credential, signal)),
    retries: () => retries.stats(),
    close: () => endingStreams.settle(),
    /** Makes the calls that precede a first run, and connects to the host for runs. */
    async prewarm() {
      const connect = async (credential: AccountCredential) => {
        const { origin, transport } = await endpoints.find(credential.id, callerOf(credential));
        if (transport === "h2") transports.h2.connect?.(origin);
      };
      const warmUp = (credential: AccountCredential) =>
        Promise.all([connect(credential), models.list(credential, new AbortController().signal)]);
      // The first request meets the same failure and reports it.
      await withCredential(GATEWAY, access, warmUp).catch(() => {});
    },
  };
}

/** The gateway itself, with its default account. */
const GATEWAY = { id: "gateway", token: undefined } as const;
