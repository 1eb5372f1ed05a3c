import { setFlagsFromString } from "node:v8";

/**
 * For a process that answers many at once. V8 puts what is made at a place into the old generation from the start, once
 * much of what was made there has lived for long. Here that is what many streams make while they open; from then on every
 * token's promise, list and event would be old at birth, and keep the young ones that it points to. With 500 streams that
 * made pauses of 20 to 50 ms out of pauses of 5 (bench/README.md).
 */
export function tuneHeap(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
