/**
 * Waits for work until the signal aborts, then rejects with `error`, or else with the signal's reason. The work itself
 * continues; if it fails after that, the failure is swallowed.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, error?: unknown): Promise<T> {
  return race(work, signal, (_resolve, reject) => reject(error ?? signal.reason));
}

/** The same, but resolves with undefined when the signal aborts. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return race<T | undefined>(work, signal, (resolve) => resolve(undefined));
}

type Settle<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => void;

function race<T>(work: Promise<T>, signal: AbortSignal, settle: Settle<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => settle(resolve, reject);
  const stop = () => signal.removeEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject).finally(stop);
  return promise;
}
