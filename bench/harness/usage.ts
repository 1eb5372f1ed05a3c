import { readFileSync } from "node:fs";

/** CPU time and memory, as Linux reports them. */

const TICK_MS = 10;

/** Returns user and system time of a process, in milliseconds. */
export function cpuMs(pid: number): number {
  const [user = 0, system = 0] = cpuTicks(pid);
  return (user + system) * TICK_MS;
}

/** Returns the time of a process and of all that it has started, also of those that have ended. */
export function familyCpuMs(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Number);
  const own = cpuTicks(pid).reduce((sum, ticks) => sum + ticks, 0) * TICK_MS;
  return children.reduce((sum, child) => sum + unlessGone(() => familyCpuMs(Number(child))), own);
}

/** A process that somebody else has started may end at any time. */
function unlessGone(read: () => number): number {
  try {
    return read();
  } catch {
    return 0;
  }
}

/** Returns user and system time, then those of children that have ended. */
function cpuTicks(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name, in parentheses, may contain anything.
  return stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
}

/** Returns the busy time of all cores, including time stolen by other virtual machines. */
export function machineCpuMs(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = readFileSync("/proc/stat", "latin1")
    .split("\n", 1)
    .flatMap((line) => line.split(/\s+/).map(Number));
  return (user + nice + system + irq + softirq + steal) * TICK_MS;
}

export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0) * 1024;
}
