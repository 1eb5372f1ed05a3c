import { readFileSync } from "node:fs";

/** CPU time and memory, as Linux reports them. */

const TICK_MS = 10;

/** Returns user and system time of a process, in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name, in parentheses, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
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
