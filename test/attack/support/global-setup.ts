/** What CONTRIBUTING.md promises for the whole suite. */
const BOUND_MS = 10 * 60_000;

/** Fails the run as a whole if its parts together have taken longer than the bound. */
export function setup(): () => void {
  const startedAt = performance.now();
  return () => {
    const tookMs = performance.now() - startedAt;
    if (tookMs <= BOUND_MS) return;
    process.exitCode = 1;
    const minutes = (tookMs / 60_000).toFixed(1);
    console.error(`The attack suite took ${minutes} minutes, more than ten: give its parts less time.`);
  };
}
