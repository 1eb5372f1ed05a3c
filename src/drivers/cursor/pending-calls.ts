import type { ToolMessage } from "../../core/turn.ts";
import type { ClientCall } from "./answer-exec.ts";
import type { ClientMessage } from "./stream.ts";

/** How long the backend may pause between the calls of one batch, where nothing says that it is complete. */
const QUIET_MS = 100;

/**
 * The tool calls that the model waits for. A batch is complete when as many came as were announced, when a checkpoint
 * follows, or after a short silence: older backends announce nothing.
 */
export class PendingCalls {
  readonly #calls = new Map<string, ClientCall>();
  readonly #onComplete: () => void;
  #announced = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(onComplete: () => void) {
    this.#onComplete = onComplete;
  }

  get size(): number {
    return this.#calls.size;
  }

  announce(count: number): void {
    this.#announced = count;
  }

  add(call: ClientCall): void {
    this.#calls.set(call.id, call);
    clearTimeout(this.#quiet);
    if (this.#announced > 0 && this.#calls.size >= this.#announced) this.complete();
    else this.#quiet = setTimeout(() => this.complete(), QUIET_MS);
  }

  /** Ends the batch, if there is one. */
  complete(): void {
    clearTimeout(this.#quiet);
    this.#announced = 0;
    if (this.#calls.size > 0) this.#onComplete();
  }

  /** The messages that answer these calls; each call is answered once. */
  answer(results: readonly ToolMessage[]): readonly ClientMessage[] {
    return results.flatMap((result) => {
      const call = this.#calls.get(result.callId);
      this.#calls.delete(result.callId);
      return call?.reply(result) ?? [];
    });
  }

  /** Signs of life for calls that take their time. */
  heartbeats(): readonly ClientMessage[] {
    return [...this.#calls.values()].map(({ execId: id }) => ({
      case: "execClientControlMessage",
      value: { message: { case: "heartbeat", value: { id } } },
    }));
  }

  clear(): void {
    clearTimeout(this.#quiet);
    this.#calls.clear();
  }
}
