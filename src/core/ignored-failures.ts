/**
 * Marks a promise that is awaited later, or never if its reader leaves first: a failure until then does not end the process.
 * Whoever awaits it still gets the failure.
 */
export function awaitedLater<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}

/**
 * Sends something to a peer, or closes it, where a failure can only mean that the peer is gone: nobody needs what is sent any
 * more, and whoever reads from the peer learns of its end. Never rejects.
 */
export async function unlessGone(sending: Promise<unknown> | undefined): Promise<void> {
  try {
    await sending;
  } catch {}
}
