import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { hasRunningMember } from "./group-members.ts";
import type { Watchdog } from "./watchdog.ts";

export interface GroupOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly folder?: string | undefined;
  readonly watchdog: Watchdog;
}

/**
 * A program and all its descendants. A launcher such as npx exits early, but its child must be ended as well (SEC-44).
 */
export interface ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams;
  /** Ends the whole group: closes stdin, then sends TERM, then KILL. Resolves when no process is left. */
  end(): Promise<void>;
}

/** How long a program may take to end after its stdin is closed, and after TERM. */
const STDIN_GRACE_MS = 1000;
const TERM_GRACE_MS = 3000;
const POLL_MS = 20;

/**
 * Starts a program in its own process group, without a shell. Rejects if it cannot be started. The watchdog ends it if
 * this process is killed.
 */
export async function startGroup(options: GroupOptions): Promise<ProcessGroup> {
  const { command, args, environment, folder, watchdog } = options;
  const child = spawn(command, args, {
    env: environment,
    ...(folder !== undefined && { cwd: folder }),
    stdio: "pipe",
    shell: false,
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const { pid } = child;
  if (pid !== undefined) watchdog.watch(pid);
  // Errors of writing to an ended program are ignored; its exit is handled.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  await once(child, "spawn");
  const group = pid as number;
  let ending: Promise<void> | undefined;
  const end = async () => {
    child.stdin.end();
    await Promise.race([exitOf(child), sleep(STDIN_GRACE_MS, undefined, { ref: false })]);
    if (signal(child, group, "SIGTERM") && !(await isGone(child, group, TERM_GRACE_MS))) {
      signal(child, group, "SIGKILL");
      await exitOf(child);
    }
    watchdog.forget(group);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  };
  return {
    child,
    end: () => {
      ending ??= end();
      return ending;
    },
  };
}

async function isGone(child: ChildProcessWithoutNullStreams, group: number, withinMs: number): Promise<boolean> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; ) {
    if (!signal(child, group, 0) || (process.platform === "linux" && !hasRunningMember(group))) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Returns false if no process is left to receive it. */
function signal(child: ChildProcessWithoutNullStreams, group: number, name: NodeJS.Signals | 0): boolean {
  if (process.platform === "win32") return !hasExited(child) && child.kill(name);
  try {
    return process.kill(-group, name);
  } catch {
    return false;
  }
}

async function exitOf(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (!hasExited(child)) await once(child, "exit");
}

const hasExited = ({ exitCode, signalCode }: ChildProcessWithoutNullStreams): boolean =>
  exitCode !== null || signalCode !== null;
