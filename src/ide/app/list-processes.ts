import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import type { RunningProcess } from "./processes.ts";

export function listProcesses(platform: NodeJS.Platform): readonly RunningProcess[] {
  if (platform === "linux") return listProc();
  if (platform === "win32") {
    const rows = run("tasklist", ["/fo", "csv", "/nh"]).matchAll(/^"([^"]+)","(\d+)"/gm);
    return [...rows].map(([, program = "", pid]) => ({ pid: Number(pid), program }));
  }
  return run("ps", ["-axo", "pid=,comm="])
    .split("\n")
    .flatMap((line) => {
      const [pid = "", ...words] = line.trim().split(" ");
      return /^\d+$/.test(pid) ? [{ pid: Number(pid), program: words.join(" ").trim() }] : [];
    });
}

function listProc(): readonly RunningProcess[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return [{ pid: Number(name), program: readlinkSync(`/proc/${name}/exe`) }];
    } catch {
      // The process has ended, or belongs to another user.
      return [];
    }
  });
}

const run = (command: string, args: readonly string[]): string =>
  spawnSync(command, args, { encoding: "utf8", timeout: 10_000 }).stdout ?? "";
