import type { RunContext } from "../../../core/driver.ts";
import type { RetryBudget } from "../../../core/engine/retry-budget.ts";
import type { CheckpointStore } from "../../../core/history/checkpoints.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Caller } from "../../../wire/agent/headers.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";
import type { Endpoint } from "../account/endpoint.ts";
import type { EncodingKind, ResolvedModel } from "../models/model.ts";
import type { Farewells } from "./farewells.ts";
import type { Transports } from "./stream.ts";
import type { UnknownTally } from "./unknown.ts";

/** What a run needs to know before it can send its request. */
export interface RunPlan {
  readonly credential: AccountCredential;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly model: ResolvedModel;
  /** The turn as it is sent: what does not fit the model's window may have been left out. */
  readonly turn: Turn;
  /** How many messages were left out. */
  readonly trimmedMessages: number;
  /** Owner of the checkpoints: principal and account. The backend knows only those of the same account. */
  readonly owner: string;
}

export interface CursorRunParts {
  readonly turn: Turn;
  readonly context: RunContext;
  readonly transports: Transports;
  readonly checkpoints: CheckpointStore;
  /** Makes the plan again with another token, after the backend has refused this one; undefined if there is none. */
  readonly renew: (plan: RunPlan) => Promise<RunPlan | undefined>;
  /** Called with the encoding of the model's name that worked after another had failed. */
  readonly onEncoding: (baseId: string, kind: EncodingKind) => void;
  readonly retries: RetryBudget;
  /** Shared by all runs of the driver. */
  readonly farewells: Farewells;
  /** Counts what the schema does not know. */
  readonly unknown: UnknownTally;
}
