/**
 * Waits for work, at most this long, and then returns what `late` does, or throws what it throws. The work itself
 * continues; if it fails after that, the failure is swallowed. The timer does not keep the process alive.
 */
export async function within<T, Late = undefined>(work: Promise<T>, ms: number, late?: () => Late): Promise<T | Late> {
  const { promise: over, resolve } = Promise.withResolvers<typeof OVER>();
  // One more turn of the event loop: if this thread was late itself, the result may be here already.
  const timer = setTimeout(() => setImmediate(resolve, OVER), ms).unref();
  try {
    const outcome = await Promise.race([work, over]);
    return outcome === OVER ? (late?.() as Late) : outcome;
  } finally {
    clearTimeout(timer);
  }
}

const OVER = Symbol();
