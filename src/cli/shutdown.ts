const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** One Ctrl-C in a terminal reaches us twice: from the terminal and, passed on, from npm. */
const SAME_SIGNAL_MS = 300;

/**
 * Resolves at SIGINT or SIGTERM. Ask for it before anybody is told that we are ready. A second signal exits at once;
 * those within 300 ms of the first are the same one.
 */
export function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        firstAt ??= performance.now();
        if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(signal === "SIGINT" ? 130 : 143);
        resolve();
      });
    }
  });
}
