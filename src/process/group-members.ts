import { readdirSync, readFileSync } from "node:fs";

/**
 * Whether anybody of a process group still runs, by Linux's `/proc`. A signal would also reach the dead that their parent
 * has not yet fetched, and in a container that may never come to pass.
 */
export function hasRunningMember(group: number): boolean {
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && runsIn(name, group));
}

function runsIn(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it may hold anything, brackets and spaces among it.
    const [state = "", , members] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 3);
    return Number(members) === group && !"ZX".includes(state);
  } catch {
    return false;
  }
}
