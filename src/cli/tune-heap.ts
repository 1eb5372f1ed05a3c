import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** What fits into the young generation before it is collected. */
const YOUNG_BYTES = 8 * 1024 * 1024;

/** Of 64 KiB each; some twenty of them make it grow. */
const MAX_PIECES = 256;

/**
 * For a process that answers many at once, and then sits in the background for days. What it buys is in bench/README.md.
 *
 * V8 puts what is made at a place into the old generation from the start, once much of what was made there has lived for
 * long. Here that is what many streams make while they open; from then on every token's promise, list and event would be
 * old at birth, and keep the young ones that it points to.
 *
 * It also lets the young generation grow to 64 MB on machines that have the memory. What lives in there when it is full is
 * copied in one pause, so a larger one makes some tokens late; a smaller one makes more of what is on its way to a reader
 * old before it is there.
 *
 * To be called before much is loaded: what has grown further by then is not made smaller here.
 */
export function tuneHeap(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  growYoung();
  // A full collection of an idle process makes it small again.
  new PerformanceObserver(growYoung).observe({ entryTypes: ["gc"] });
}

/**
 * Brings the young generation to its size, and keeps it there. The size can only be said on the command line, but how
 * fast it grows can be said at any time, and it grows when a collection has found much alive. That takes 3 ms.
 */
function growYoung(): void {
  const factor = Math.round(YOUNG_BYTES / youngBytes());
  if (factor > 1) setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  const kept: number[][] = [];
  while (youngBytes() * 1.5 < YOUNG_BYTES && kept.length < MAX_PIECES) kept.push(new Array<number>(8192).fill(0));
  setFlagsFromString("--semi-space-growth-factor=1");
}

function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young ? young.space_used_size + young.space_available_size : YOUNG_BYTES;
}
