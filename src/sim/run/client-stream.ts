import { setTimeout as sleepFor } from "node:timers/promises";
import { unlessAborted } from "../../core/abort-race.ts";
import { awaitedLater } from "../../core/ignored-failures.ts";
import type { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { FrameWriter } from "../frame-writer.ts";

/** The client has disconnected, or a fault has ended the stream. */
export class StreamGone extends Error {
  override readonly name = "StreamGone";
}

export class TurnCancelled extends Error {
  override readonly name = "TurnCancelled";
}

/**
 * The stream of one run to its client: sends heartbeats while nothing else is sent, and stops the run for whichever
 * reason comes first.
 */
export class ClientStream {
  readonly out: FrameWriter;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #isSilent = false;
  #stop = new AbortController();

  /** Without `heartbeat` none are sent. */
  constructor(out: FrameWriter, heartbeat?: { readonly everyMs: number; readonly encode: () => Uint8Array }) {
    this.out = out;
    this.#heartbeat =
      heartbeat &&
      setTimeout(() => {
        if (this.#isSilent || this.#stop.signal.aborted) return;
        if (out.exchange.hasResponded) void this.write(heartbeat.encode());
        else this.#heartbeat?.refresh();
      }, heartbeat.everyMs);
    out.exchange.onOver(() => this.stop(new StreamGone()));
  }

  /** Sends a message. Returns a promise if the client reads too slowly; it never rejects. */
  write(payload: Uint8Array): Promise<void> | undefined {
    this.#stop.signal.throwIfAborted();
    if (!this.#isSilent) this.#heartbeat?.refresh();
    return this.out.send(payload) ? undefined : this.out.exchange.drained();
  }

  stop(reason: StreamGone | TurnCancelled | ConnectFailure): void {
    this.#stop.abort(reason);
  }

  /** Allows a cancelled turn to send its end. */
  revive(): void {
    this.#stop = new AbortController();
  }

  sleep(ms: number): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return Promise.reject(signal.reason);
    if (ms <= 0) return Promise.resolve();
    return unlessAborted(sleepFor(ms, undefined, { signal }), signal);
  }

  untilGone(): Promise<never> {
    const { signal } = this.#stop;
    return unlessAborted(new Promise<never>(() => {}), signal);
  }

  /** Waits without heartbeats until the client disconnects. Ignores cancellation. */
  async hang(): Promise<never> {
    this.end();
    for (;;) {
      try {
        await this.untilGone();
      } catch (reason) {
        if (!(reason instanceof TurnCancelled)) throw reason;
        this.revive();
      }
    }
  }

  /** Ends the stream although the client has not answered. */
  endUnanswered(answers: Promise<unknown>): never {
    void awaitedLater(answers);
    this.out.end();
    throw new StreamGone();
  }

  end(): void {
    this.#isSilent = true;
    clearTimeout(this.#heartbeat);
  }
}
