import { spawn } from "node:child_process";
import fs from "node:fs";
import type { FileSystem } from "../files/file-system.ts";
import type { Machine } from "./app/install-places.ts";
import { listProcesses } from "./app/list-processes.ts";
import type { RunningProcess } from "./app/processes.ts";

/** Everything outside this folder that a patch uses. */
export interface IdeHost {
  readonly machine: Machine;
  readonly files: FileSystem;
  /** Excursor's own folder; it must exist. */
  readonly home: string;
  readonly processes: () => readonly RunningProcess[];
  readonly run: (command: string, args: readonly string[]) => Promise<CommandResult>;
  readonly now: () => Date;
  /** Kills running commands. Also cancels a change that has not yet replaced a file. */
  readonly signal: AbortSignal;
  readonly onStep: (step: string) => void;
}

export interface CommandResult {
  /** 127 if there is no such command. */
  readonly code: number;
  readonly output: string;
}

const MAX_OUTPUT = 16 * 1024;

export const systemHost = (own: Pick<IdeHost, "machine" | "home" | "signal" | "onStep">): IdeHost => ({
  ...own,
  files: fs,
  processes: () => listProcesses(own.machine.platform),
  run: (command, args) => runCommand(command, args, own.signal),
  now: () => new Date(),
});

function runCommand(command: string, args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], signal });
    let output = "";
    const read = (text: string) => {
      output = (output + text).slice(0, MAX_OUTPUT);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", read);
    child.on("error", (error) => resolve({ code: 127, output: error.message }));
    child.on("close", (code) => resolve({ code: code ?? 128, output }));
  });
}
