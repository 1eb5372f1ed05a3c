/** Returns the promise's result, or undefined if it takes too long; the work itself continues. */
export async function within<Value>(promise: Promise<Value>, waitMs: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, waitMs, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
