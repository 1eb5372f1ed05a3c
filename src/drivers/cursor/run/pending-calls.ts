import type { ToolMessage } from "../../../core/turn.ts";
import { execHeartbeat } from "../../../wire/agent/heartbeat.ts";
import type { ClientMessage } from "../../../wire/agent/messages.ts";
import type { ClientCall } from "../replies/reply-to-exec.ts";

/** How long the backend may pause between the calls of one batch, where nothing says that it is complete. */
const QUIET_MS = 100;

/**
 * The tool calls that the model waits for. A batch is complete when as many came as were announced, when a checkpoint
 * follows, or after a short silence: older backends announce nothing.
 */
export class PendingCalls {
  /** Not there before the first: most runs call nothing. */
  #calls: Map<string, ClientCall> | undefined;
  readonly #onComplete: () => void;
  /** Answered, and not seen to have had an effect. */
  #unsettled: Set<string> | undefined;
  #announced = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(onComplete: () => void) {
    this.#onComplete = onComplete;
  }

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /** Whether the model has taken notice of every result: no checkpoint that was made before that knows them all. */
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

  /** Ends the batch, if there is one. */
  complete(): void {
    clearTimeout(this.#quiet);
    this.#announced = 0;
    if (this.size > 0) this.#onComplete();
  }

  /** The messages that answer these calls; each call is answered once. */
  answer(results: readonly ToolMessage[]): readonly ClientMessage[] {
    return results.flatMap((result) => {
      const call = this.#calls?.get(result.callId);
      if (!call) return [];
      this.#calls?.delete(result.callId);
      this.#unsettled ??= new Set();
      this.#unsettled.add(call.id);
      return call.reply(result);
    });
  }

  /** The backend says that this call is done; without a name, the model has gone on behind all of them. */
  settle(callId?: string): void {
    if (callId === undefined) this.#unsettled = undefined;
    else this.#unsettled?.delete(callId);
  }

  /** Signs of life for calls that take their time. */
  heartbeats(): readonly ClientMessage[] {
    return [...(this.#calls?.values() ?? [])].map(({ execId }) => execHeartbeat(execId));
  }

  clear(): void {
    clearTimeout(this.#quiet);
    this.#calls = undefined;
  }
}
