import type { RunContext } from "../../../core/driver.ts";
import type { RetryBudget } from "../../../core/engine/run/retry-budget.ts";
import type { ExcursorError } from "../../../core/errors.ts";
import type { CheckpointStore } from "../../../core/history/checkpoints.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Caller } from "../../../wire/agent/headers.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";
import type { Endpoint } from "../account/endpoint.ts";
import type { EncodingKind, ResolvedModel } from "../models/model.ts";
import type { EndingStreams } from "./ending-streams.ts";
import type { Transports } from "./stream.ts";
import type { UnknownTally } from "./unknown.ts";

/** What a run needs before it can send its request. */
export interface RunPlan {
  readonly credential: AccountCredential;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly model: ResolvedModel;
  /** The turn to send, possibly trimmed to the model's context window. */
  readonly turn: Turn;
  /** The number of messages left out. */
  readonly trimmedMessages: number;
  /** The owner of the checkpoints: principal and account. The backend knows only those of the same account. */
  readonly owner: string;
}

export interface CursorRunParts {
  readonly turn: Turn;
  readonly context: RunContext;
  readonly transports: Transports;
  readonly checkpoints: CheckpointStore;
  /** Makes a new plan with a renewed token after a refusal. Returns undefined if there is no other token. */
  readonly renew: (plan: RunPlan) => Promise<RunPlan | undefined>;
  /** Called with the model encoding that worked after the other one failed. */
  readonly onEncoding: (baseId: string, kind: EncodingKind) => void;
  readonly retries: RetryBudget;
  /** Shared by all runs of the driver. */
  readonly endingStreams: EndingStreams;
  /** Called if the backend reports an error after the client has its whole answer. */
  readonly onLateError: (requestId: string, error: ExcursorError) => void;
  /** Counts messages that the schema does not know. */
  readonly unknown: UnknownTally;
}
