import { readdirSync, readFileSync } from "node:fs";

/**
 * True if a member of the process group still runs, according to Linux's `/proc`. A signal would also reach zombies,
 * which in a container may never be reaped.
 */
export function hasRunningMember(group: number): boolean {
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && runsIn(name, group));
}

function runsIn(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The process name before it may contain brackets and spaces.
    const [state = "", , members] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 3);
    return Number(members) === group && !"ZX".includes(state);
  } catch {
    return false;
  }
}
