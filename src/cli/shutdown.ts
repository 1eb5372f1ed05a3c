const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** One Ctrl-C in a terminal arrives twice: from the terminal, and passed on by npm. */
const SAME_SIGNAL_MS = 300;

/** How often to check that the shell which npm started still runs. */
const SHELL_CHECK_MS = 200;

/**
 * Resolves at SIGINT or SIGTERM. Call it before the ready line is printed. A second signal exits at once; signals within
 * 300 ms of the first count as the same one. Under one of our npm scripts it also resolves when the shell between npm
 * and this process is gone.
 *
 * On a terminal SIGHUP stops as well: the terminal was closed. Without one, SIGHUP and SIGUSR2 go to `onIgnored`. Node's
 * default would end the process at both, with every answer under way.
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
    if (isNpmScript(process.env)) whenParentIsGone(resolve);
  });
}

/** True if npm runs one of the two scripts of this package that start us. */
const isNpmScript = (environment: NodeJS.ProcessEnv): boolean =>
  environment["npm_package_name"] === "excursor" &&
  ["start", "excursor"].includes(environment["npm_lifecycle_event"] ?? "");

/**
 * Calls `onGone` when the parent process has ended. npm sends its signals to the shell that it started. Some shells
 * (bash, zsh, busybox) have been replaced by this process; dash and cmd.exe have not. Those die of SIGTERM without
 * passing it on, so their end is the only sign. dash ignores a SIGINT to npm alone, which is never noticed here; Ctrl-C
 * reaches the whole group.
 */
function whenParentIsGone(onGone: () => void): void {
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid && isAlive(ppid)) return;
    clearInterval(timer);
    onGone();
  }, SHELL_CHECK_MS);
  timer.unref();
}

/** Checks the process itself, because on Windows the parent's id stays the same after its end. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
