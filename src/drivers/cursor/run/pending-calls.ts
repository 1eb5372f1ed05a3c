import type { ToolMessage } from "../../../core/turn.ts";
import { execHeartbeat } from "../../../wire/agent/heartbeat.ts";
import type { ClientMessage } from "../../../wire/agent/messages.ts";
import type { ClientCall } from "../replies/reply-to-exec.ts";

/** How long the backend may pause between calls of one batch, if it does not announce their number. */
const QUIET_MS = 100;
/** The same for a batch whose number is announced. */
const ANNOUNCED_MS = 2000;

/** A call with the id that it has outside, which no other call of the run has. */
export interface NamedCall extends ClientCall {
  readonly id: string;
}

/**
 * The tool calls that wait for results. A batch is complete when the announced number has arrived. If none is announced,
 * it is complete when a checkpoint follows. It is also complete after some silence.
 */
export class PendingCalls {
  /** By exec id. Created on demand: most runs call nothing. */
  #calls: Map<number, NamedCall> | undefined;
  readonly #onComplete: () => void;
  /** The backend's ids of calls with a result that the model has not acknowledged yet. */
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

  /** Adds a call. Returns false if another one waits under its exec id, so that their results could not be told apart. */
  add(call: NamedCall): boolean {
    this.#calls ??= new Map();
    if (this.#calls.has(call.execId)) return false;
    this.#calls.set(call.execId, call);
    clearTimeout(this.#quiet);
    if (this.#announced > 0 && !this.#isExpected) this.#complete();
    else this.#quiet = setTimeout(() => this.#complete(), this.#isExpected ? ANNOUNCED_MS : QUIET_MS);
    return true;
  }

  /** Ends the batch unless announced calls are missing. Called with each checkpoint. */
  complete(): void {
    if (!this.#isExpected) this.#complete();
  }

  /** True while calls are missing that were announced. */
  get #isExpected(): boolean {
    return this.size < this.#announced;
  }

  #complete(): void {
    clearTimeout(this.#quiet);
    if (this.size === 0) return;
    this.#announced = 0;
    this.#onComplete();
  }

  /** Returns the replies for these results. Each call is answered once. */
  replies(results: readonly ToolMessage[]): readonly ClientMessage[] {
    const byId = new Map([...(this.#calls?.values() ?? [])].map((call) => [call.id, call]));
    return results.flatMap((result) => {
      const call = byId.get(result.callId);
      if (!call || !this.#calls?.delete(call.execId)) return [];
      this.#unsettled ??= new Set();
      this.#unsettled.add(call.toolCallId);
      return call.reply(result);
    });
  }

  /** Records that the backend has processed this call. Without an id: all of them, since the model has gone on. */
  settle(toolCallId?: string): void {
    if (toolCallId === undefined) this.#unsettled = undefined;
    else if (!this.#unsettled?.delete(toolCallId) && this.#announced > 0) {
      // It is in the batch, but no call of the client: a web search, for example.
      this.#announced--;
      this.complete();
    }
  }

  heartbeats(): readonly ClientMessage[] {
    return [...(this.#calls?.keys() ?? [])].map(execHeartbeat);
  }

  clear(): void {
    clearTimeout(this.#quiet);
    this.#calls = undefined;
  }
}
