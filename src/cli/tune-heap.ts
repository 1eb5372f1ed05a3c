import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Both halves. */
const YOUNG_BYTES = 32 * 1024 * 1024;

/**
 * For a process that answers many at once, and then sits in the background for days. What it buys is in bench/README.md.
 *
 * V8 puts what is made at a place into the old generation from the start, once much of what was made there has lived for
 * long. Here that is what many streams make while they open; from then on every token's promise, list and event would be
 * old at birth, and keep the young ones that it points to.
 *
 * It also lets the young generation grow to 128 MB on machines that have the memory. What lives in there when it is full
 * is copied in one pause, and none of it is given back. A quarter of that is as fast.
 */
export function tuneHeap(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  // Its size can only be said on the command line, but it grows only while this factor lets it.
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if ((young?.space_size ?? 0) < YOUNG_BYTES) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}
