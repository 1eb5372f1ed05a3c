/** More than the wall clock's resolution. */
const MAX_DRIFT_MS = 3;
const MAX_HOLD_MS = 1000;

/**
 * Returns a clock: milliseconds since the epoch, with their fractions, so that records can be sorted by their times. It
 * follows the wall clock, from which a monotonic one departs: by corrections of the time, and while the machine sleeps.
 * Where that would set it back a little, it stands still.
 */
export function createPreciseClock(
  wallClock: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): () => number {
  let offset = wallClock() - monotonic();
  let last = 0;
  return () => {
    const elapsed = monotonic();
    const wall = wallClock();
    if (Math.abs(offset + elapsed - wall) > MAX_DRIFT_MS) offset = wall - elapsed;
    const now = offset + elapsed;
    last = last > now && last - now < MAX_HOLD_MS ? last : now;
    return last;
  };
}
