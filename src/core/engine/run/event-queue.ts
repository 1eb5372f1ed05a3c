import type { TurnEvent } from "../../events.ts";

export interface EventQueueOptions {
  /** Called with true when too much waits for the reader, and with false when the reader has caught up. */
  readonly onPressure: (isFull: boolean) => void;
  /** Called when the reader leaves the loop before the end. */
  readonly onLeave: () => void;
  /** About how many bytes may wait before `onPressure(true)`. */
  readonly highWater?: number;
}

/**
 * Connects a driver that pushes events with a face that pulls them. Events of one turn of the event loop become one batch,
 * at the end of that turn (bench/README.md has the figures).
 */
export class EventQueue implements AsyncIterable<readonly TurnEvent[]> {
  readonly #options: EventQueueOptions;
  readonly #highWater: number;
  #batch: TurnEvent[] = [];
  #size = 0;
  #isFull = false;
  /** A batch will be handed to the reader at the end of this turn of the event loop. */
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

  /** Ends the reader's loop after the events so far. {@link reopen} allows another loop. */
  close(): void {
    this.#finish("proper");
  }

  fail(error: unknown): void {
    this.#finish({ error });
  }

  /** Allows another loop after {@link close}. */
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

  /** Not called when a batch is handed over: the reader may take long with it. It is called when the reader asks for more. */
  #relieve(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#options.onPressure(false);
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    // Not a microtask: Node runs those after every single read of a socket, so each batch would have one event.
    setImmediate(() => {
      this.#isGathering = false;
      this.#handOn();
    });
  }
}

/** The overhead of an event. Most have a few letters, and become a much longer chunk of an API. */
const EVENT_BYTES = 128;

const sizeOf = (event: TurnEvent): number =>
  EVENT_BYTES + ("text" in event ? event.text.length : "json" in event ? event.json.length : 0);
