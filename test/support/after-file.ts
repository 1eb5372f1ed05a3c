const cleanups: (() => unknown)[] = [];

/**
 * Does this after the last test of the file. For modules that test files share: a hook at their top would only run for the first file
 * of a worker. `onTestFinished` does it after a test.
 */
export const afterFile = (cleanup: () => unknown): void => void cleanups.push(cleanup);

export async function cleanUpAfterFile(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
