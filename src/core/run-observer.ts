import type { Awaitable } from "./awaitable.ts";
import type { LossReason } from "./engine/call-log.ts";
import type { DoneReason } from "./events.ts";
import type { AssistantMessage, Message } from "./turn.ts";

/**
 * What can happen to the run of a request, in the order in which it usually does.
 *
 * By drivers, as far as they have such a step; again for each attempt:
 * - `planned`: account, model and endpoint are known;
 * - `opened`: the request is sent to the upstream.
 *
 * By the engine:
 * - `resumed`: a parked run goes on with the results that the request brought;
 * - `replayed`: the parked run is gone or failed, and a new run gets the conversation from the client's transcript;
 * - `first-event`: the first event that is not a notice has arrived;
 * - `parked`: the run waits for tool results;
 * - `ended`: nothing more comes; always last, whether the answer is complete, failed or was cancelled.
 *
 * A request whose answer has to be repaired has a second run, with the same phases once more.
 */
export type RunPhase = "planned" | "opened" | "resumed" | "replayed" | "first-event" | "parked" | "ended";

/** Is told of the phases of a request, for logs, metrics and traces. It must be fast, and only `served` may throw. */
export interface RunObserver {
  /** `atMs` is the time by `performance.now()`. `reason` says why a run is replayed. */
  phase(name: RunPhase, atMs: number, reason?: LossReason): void;
  /**
   * Called before each run: the model after all aliases and stand-ins, and the driver that answers for it. If it throws or
   * rejects, the request fails with that error. The run begins when it is done.
   */
  served?(model: string, driver: string): Awaitable<void>;
  /** Returns the history keys of messages. Those of the request's own turn are made once, since they take long. */
  keysOf?(messages: readonly Message[]): readonly string[];
  /** Called with the answer as the client gets it, once it is complete. The engine keeps the text only for this. */
  answered?: ((message: AssistantMessage, reason: DoneReason) => void) | undefined;
}
