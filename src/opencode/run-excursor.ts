import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

export type Environment = Readonly<Record<string, string>>;

const BIN = fileURLToPath(new URL("../../bin/excursor.js", import.meta.url));

/** Our command line, under Node: the program that loads this plugin may be another. */
export function spawnExcursor(
  args: readonly string[],
  environment: Environment,
): ChildProcessByStdio<Writable, Readable, null> {
  const child = spawn("node", [BIN, ...args], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, ...environment },
  });
  // A command that has ended reads no more; it says why by its exit code.
  child.stdin.on("error", () => {});
  return child;
}

/** The first line that it prints; rejects if it ends without one. */
export function firstLine(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`excursor ended with exit code ${code}.`)));
  });
}

/** Runs a command to its end, with something to read; whether it went well. */
export function runExcursor(args: readonly string[], input: string, environment: Environment): Promise<boolean> {
  const child = spawnExcursor(args, environment);
  child.stdout.resume();
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
