import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether a process runs. One that is dead and was not yet fetched by its parent does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Resolves when none of them runs any more; the test's own time limit is the limit. */
export async function untilGone(...pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await sleep(10);
}
