import type { Run } from "../../core/driver.ts";

/** Returns a run that fails at once. */
export const failedRun = (error: unknown): Run => ({
  // biome-ignore lint/correctness/useYield: it fails before it has anything to say.
  async *[Symbol.asyncIterator]() {
    throw error;
  },
  submitResults: () => false,
  cancel: () => {},
});
