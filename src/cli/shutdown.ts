const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** One Ctrl-C in a terminal reaches us twice: from the terminal and, passed on, from npm. */
const SAME_SIGNAL_MS = 300;

/**
 * Resolves at SIGINT or SIGTERM. Ask for it before anybody is told that we are ready. A second signal exits at once;
 * those within 300 ms of the first are the same one.
 *
 * SIGHUP is the same on a terminal, which has been closed then. Without a terminal it asks a service to read its files
 * again: it goes to `onIgnored`, as SIGUSR2 does. Node would end the process at both, with every answer under way.
 */
export function nextSignal(onIgnored: (signal: NodeJS.Signals) => void = () => {}): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const stop = (signal: NodeJS.Signals) => {
      firstAt ??= performance.now();
      if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(signal === "SIGINT" ? 130 : 143);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    const isOnTerminal = process.stdin.isTTY || process.stderr.isTTY;
    process.on("SIGHUP", isOnTerminal ? stop : onIgnored);
    process.on("SIGUSR2", onIgnored);
  });
}
