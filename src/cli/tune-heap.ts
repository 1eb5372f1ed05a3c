import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Both halves. */
const YOUNG_BYTES = 32 * 1024 * 1024;

/** How much of a half is filled before it is collected, in percent. */
const FILLED = 50;

/**
 * For a process that answers many at once, and then sits in the background for days. What it buys is in bench/README.md.
 *
 * V8 puts what is made at a place into the old generation from the start, once much of what was made there has lived for
 * long. Here that is what many streams make while they open; from then on every token's promise, list and event would be
 * old at birth, and keep the young ones that it points to.
 *
 * It also lets the young generation grow to 128 MB on machines that have the memory, and collects it between two turns
 * of the event loop when four fifths of it are full. What lives in there by then is copied in one pause, and none of it
 * is given back. Smaller and sooner the pauses are many and short.
 */
export function tuneHeap(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString(`--minor-gc-task-trigger=${FILLED}`);
  // The size itself can only be said on the command line. It grows by this factor; an idle process may shrink again.
  let factor = 2;
  const limitGrowth = () => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    const wanted = (young?.space_size ?? 0) < YOUNG_BYTES ? 2 : 1;
    if (wanted === factor) return;
    factor = wanted;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  limitGrowth();
  new PerformanceObserver(limitGrowth).observe({ entryTypes: ["gc"] });
}
