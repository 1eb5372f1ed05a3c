import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";

/** What fits into the young generation before it is collected. */
const YOUNG_BYTES = 8 * 1024 * 1024;

/** Of 64 KiB each; some twenty of them make it grow. */
const MAX_PIECES = 256;

/** What may die in the old generation before it is collected; where more than that lives, half of it. */
const OLD_SPARE_BYTES = 128 * 1024 * 1024;
const MIN_GROWTH_PERCENT = 50;

/**
 * For a process that answers many at once, and then sits in the background for days. What it buys is in bench/README.md.
 *
 * V8 puts what is made at a place into the old generation from the start, once much of what was made there has lived for
 * long. Here that is what many streams make while they open; from then on every token's promise, list and event would be
 * old at birth, and keep the young ones that it points to.
 *
 * It also lets the young generation grow to 64 MB on machines that have the memory. What lives in there when it is full is
 * copied in one pause, so a larger one makes some tokens late; a smaller one makes more of what is on its way to a reader
 * old before it is there. So the old generation has room for that: a full collection is the longest pause of all, and V8
 * would make one whenever a few dozen megabytes have come. One that has come to rest is collected all the same.
 *
 * To be called before much is loaded: what has grown further by then is not made smaller here.
 */
export function tuneHeap(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  growYoung();
  spareOld();
  new PerformanceObserver((list) => {
    // A full collection of an idle process makes it small again.
    growYoung();
    if (list.getEntries().some(isFull)) spareOld();
  }).observe({ entryTypes: ["gc"] });
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

/** Of a collection; the types do not know its details. */
function isFull(collection: PerformanceEntry): boolean {
  const { detail } = collection as PerformanceEntry & { readonly detail: { readonly kind: number } };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/**
 * To be called when there is little but what lives: V8 wants to be told how much of that may come to it. What is said now
 * holds from the next full collection on.
 */
function spareOld(): void {
  const percent = Math.round((100 * OLD_SPARE_BYTES) / getHeapStatistics().used_heap_size);
  setFlagsFromString(`--heap-growing-percent=${Math.max(percent, MIN_GROWTH_PERCENT)}`);
}
