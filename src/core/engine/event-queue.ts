import type { TurnEvent } from "../events.ts";

export interface EventQueueOptions {
  /** Called with true when too much waits for the reader, with false when it has caught up and wants more. */
  readonly onPressure: (isFull: boolean) => void;
  /** The reader has left the loop before the end. */
  readonly onLeave: () => void;
  /** About how many bytes may wait. */
  readonly highWater?: number;
}

/**
 * Between a driver that pushes and a face that pulls. What is pushed in one turn of the event loop is handed on
 * together, at the end of that turn (see bench/README.md for what that buys).
 */
export class EventQueue implements AsyncIterable<readonly TurnEvent[]> {
  readonly #options: EventQueueOptions;
  readonly #highWater: number;
  #batch: TurnEvent[] = [];
  #size = 0;
  #isFull = false;
  /** There is something for the reader at the end of this turn of the loop. */
  #isGathering = false;
  #end: { readonly error: unknown } | "proper" | undefined;
  #reader:
    | { resolve: (result: IteratorResult<readonly TurnEvent[]>) => void; reject: (error: unknown) => void }
    | undefined;

  constructor(options: EventQueueOptions) {
    this.#options = options;
    this.#highWater = options.highWater ?? 32 * 1024;
  }

  push(event: TurnEvent): void {
    if (this.#end) return;
    this.#batch.push(event);
    this.#size += sizeOf(event);
    if (!this.#isFull && this.#size >= this.#highWater) {
      this.#isFull = true;
      this.#options.onPressure(true);
    }
    if (this.#reader) this.#gather();
  }

  /** No more events in this loop; it may be entered again later. */
  close(): void {
    this.#finish("proper");
  }

  fail(error: unknown): void {
    this.#finish({ error });
  }

  /** After {@link close}: another loop may begin. */
  reopen(): void {
    this.#end = undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return {
      next: () =>
        new Promise((resolve, reject) => {
          this.#reader = { resolve, reject };
          if (this.#size === 0) this.#relieve();
          if (!this.#isGathering) this.#handOn();
        }),
      return: () => {
        this.#relieve();
        if (!this.#end) this.#options.onLeave();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  #finish(end: { readonly error: unknown } | "proper"): void {
    this.#end ??= end;
    if (this.#reader) this.#gather();
  }

  #handOn(): void {
    const reader = this.#reader;
    if (!reader) return;
    if (this.#batch.length > 0) {
      const batch = this.#batch;
      this.#reader = undefined;
      this.#batch = [];
      this.#size = 0;
      reader.resolve({ done: false, value: batch });
    } else if (this.#end) {
      this.#reader = undefined;
      if (this.#end === "proper") reader.resolve({ done: true, value: undefined });
      else reader.reject(this.#end.error);
    }
  }

  /** Not when a batch is handed on: a reader that does not come back for the next one is still busy with it. */
  #relieve(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#options.onPressure(false);
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    // Not a microtask: Node drains those after every single read of a socket, so they would gather nothing.
    setImmediate(() => {
      this.#isGathering = false;
      this.#handOn();
    });
  }
}

/** What an event weighs beside its text: most are a few letters, and become a whole event of a dialect on their way. */
const EVENT_BYTES = 128;

const sizeOf = (event: TurnEvent): number =>
  EVENT_BYTES + ("text" in event ? event.text.length : "json" in event ? event.json.length : 0);
