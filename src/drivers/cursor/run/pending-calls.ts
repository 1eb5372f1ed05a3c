import type { ToolMessage } from "../../../core/turn.ts";
import { execHeartbeat } from "../../../wire/agent/heartbeat.ts";
import type { ClientMessage } from "../../../wire/agent/messages.ts";
import type { ClientCall } from "../replies/reply-to-exec.ts";

/** How long the backend may pause between calls of one batch, if it does not announce their number. */
const QUIET_MS = 100;

/**
 * The tool calls that wait for results. A batch is complete when the announced number has arrived, when a checkpoint
 * follows, or after a short silence: older backends announce nothing.
 */
export class PendingCalls {
  /** Created on demand: most runs call nothing. */
  #calls: Map<string, ClientCall> | undefined;
  readonly #onComplete: () => void;
  /** Calls with a result that the model has not acknowledged yet. */
  #unsettled: Set<string> | undefined;
  #announced = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(onComplete: () => void) {
    this.#onComplete = onComplete;
  }

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /** True if the model has acknowledged every result. Earlier checkpoints do not contain them all. */
  get isSettled(): boolean {
    return (this.#unsettled?.size ?? 0) === 0;
  }

  announce(count: number): void {
    this.#announced = count;
  }

  add(call: ClientCall): void {
    this.#calls ??= new Map();
    this.#calls.set(call.id, call);
    clearTimeout(this.#quiet);
    if (this.#announced > 0 && this.size >= this.#announced) this.complete();
    else this.#quiet = setTimeout(() => this.complete(), QUIET_MS);
  }

  complete(): void {
    clearTimeout(this.#quiet);
    this.#announced = 0;
    if (this.size > 0) this.#onComplete();
  }

  /** Returns the replies for these results. Each call is answered once. */
  replies(results: readonly ToolMessage[]): readonly ClientMessage[] {
    return results.flatMap((result) => {
      const call = this.#calls?.get(result.callId);
      if (!call) return [];
      this.#calls?.delete(result.callId);
      this.#unsettled ??= new Set();
      this.#unsettled.add(call.id);
      return call.reply(result);
    });
  }

  /** Records that the backend has processed this call. Without an id: all of them, since the model has gone on. */
  settle(callId?: string): void {
    if (callId === undefined) this.#unsettled = undefined;
    else this.#unsettled?.delete(callId);
  }

  heartbeats(): readonly ClientMessage[] {
    return [...(this.#calls?.values() ?? [])].map(({ execId }) => execHeartbeat(execId));
  }

  clear(): void {
    clearTimeout(this.#quiet);
    this.#calls = undefined;
  }
}
