import type { Usage } from "../../core/events.ts";
import type { RunMeter } from "../../core/run-meter.ts";

/** How long the figures of an upstream may come after the end of an answer. */
const KEEP_MS = 60_000;

const MAX_KEPT = 10_000;

/** What a home node tells the gateway that has forwarded a turn, after the answer. */
export interface LateUsage {
  /** The forwarded turn. */
  readonly id: number;
  /** How much it differs from what was told before. */
  readonly difference: Usage;
}

/** The meters of turns that this gateway has forwarded, so that figures which come late reach their requests. */
export class ForwardedMeters {
  readonly #meters = new Map<number, { readonly meter: RunMeter; readonly untilMs: number }>();
  readonly #now: () => number;
  #count = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Keeps the meter of a turn for a while. Returns the id of the turn. */
  keep(meter: RunMeter): number {
    const now = this.#now();
    for (const [id, { untilMs }] of this.#meters) {
      if (untilMs > now && this.#meters.size < MAX_KEPT) break;
      this.#meters.delete(id);
    }
    this.#meters.set(++this.#count, { meter, untilMs: now + KEEP_MS });
    return this.#count;
  }

  correct({ id, difference }: LateUsage): void {
    this.#meters.get(id)?.meter.corrected?.(difference);
  }
}
