import { CANCELED, type ExcursorError } from "../../errors.ts";
import type { TurnEvent } from "../../events.ts";
import { EventQueue } from "./event-queue.ts";

/**
 * `waiting`: the client has tool calls to answer. `finished`: the client has the whole answer, and the upstream may still
 * have something to say. `over`: nothing follows.
 */
type ChannelState = "running" | "waiting" | "finished" | "over";

interface RunChannelOptions {
  /** Called with true when too much waits for the reader, with false when it has caught up. */
  readonly onPressure: (isFull: boolean) => void;
  /** Releases what the run holds. Called once; `isBroken` if the run failed or was cancelled. */
  readonly onOver: (isBroken: boolean) => void;
  /** Called when the run ends while it waits for tool results. */
  readonly onLost?: (() => void) | undefined;
  /** Called when the reader leaves before the end. Default: {@link RunChannel.cancel}. */
  readonly onLeave?: () => void;
}

/** The reader's side of a driver's run: the events, and the phase that they lead to. */
export class RunChannel implements AsyncIterable<readonly TurnEvent[]> {
  readonly #options: RunChannelOptions;
  readonly #queue: EventQueue;
  #phase: ChannelState = "running";

  constructor(options: RunChannelOptions) {
    this.#options = options;
    this.#queue = new EventQueue({
      onPressure: options.onPressure,
      onLeave: options.onLeave ?? (() => this.cancel()),
    });
  }

  get phase(): ChannelState {
    return this.#phase;
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#queue[Symbol.asyncIterator]();
  }

  /** Hands on an event of a running answer; `done` ends it, or lets it wait for tool results. */
  push(event: TurnEvent): void {
    if (this.#phase !== "running") return;
    this.#queue.push(event);
    if (event.type !== "done") return;
    this.#phase = event.reason === "tool-calls" ? "waiting" : "finished";
    this.#queue.close();
  }

  /** Continues a waiting run. Returns false if it does not wait. */
  resume(): boolean {
    if (this.#phase !== "waiting") return false;
    this.#phase = "running";
    this.#queue.reopen();
    return true;
  }

  /** The upstream has nothing more to say. */
  end(): void {
    this.#settle(false, undefined, this.#options.onLost);
  }

  fail(error: ExcursorError): void {
    this.#settle(true, error, this.#options.onLost);
  }

  /** Drops the run, unless the client has its whole answer. The caller knows that it is gone. */
  cancel(): void {
    if (this.#phase !== "finished") this.#settle(true, CANCELED, undefined);
  }

  #settle(isBroken: boolean, error: ExcursorError | undefined, onLost: (() => void) | undefined): void {
    const phase = this.#phase;
    if (phase === "over") return;
    this.#phase = "over";
    this.#options.onOver(isBroken);
    if (phase === "waiting") onLost?.();
    if (error) this.#queue.fail(error);
    else this.#queue.close();
  }
}
