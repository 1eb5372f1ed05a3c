import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

export type Environment = Readonly<Record<string, string>>;

/** A command of ours that runs. */
export interface Excursor {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<Ending>;
}

export interface Ending {
  /** Null if it could not be started or was killed. */
  readonly code: number | null;
  /** What it said about a failure, in one line without secrets; empty if nothing failed. */
  readonly reason: string;
}

const BIN = fileURLToPath(new URL("../../bin/excursor.js", import.meta.url));

const MAX_STDERR_CHARACTERS = 4096;

/** Starts our command line under Node; the program that loads this plugin may be another runtime. */
export function spawnExcursor(args: readonly string[], environment: Environment): Excursor {
  const child = spawn("node", [BIN, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", ...environment },
  });
  // A command that has ended reads no more; it says why by its exit code.
  child.stdin.on("error", () => {});
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-MAX_STDERR_CHARACTERS);
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => resolve({ code: null, reason: startProblem(error) }));
    // Not `exit`: what it said may still be on its way then.
    child.once("close", (code, signal) =>
      resolve({ code, reason: code === 0 ? "" : (lastError(stderr) ?? `excursor ended with ${code ?? signal}.`) }),
    );
  });
  return { child, ended };
}

/** The first line that it prints. Rejects with what it said about the failure if it ends without one. */
export function firstLine({ child, ended }: Excursor): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
    });
    void ended.then(({ code, reason }) => reject(new Error(reason || `excursor ended with ${code}.`)));
  });
}

/** Runs a command to its end, with something to read, for a limited time. */
export async function runExcursor(
  args: readonly string[],
  input: string,
  environment: Environment,
  timeoutMs: number,
): Promise<Ending> {
  const { child, ended } = spawnExcursor(args, environment);
  child.stdout.resume();
  child.stdin.end(input);
  const timer = setTimeout(() => child.kill(), timeoutMs);
  const ending = await ended;
  clearTimeout(timer);
  return child.killed ? { code: null, reason: `No answer within ${timeoutMs / 1000} seconds.` } : ending;
}

const startProblem = ({ code, message }: NodeJS.ErrnoException): string =>
  code === "ENOENT" ? "There is no `node` on the path; Excursor needs Node 22.13 or newer." : message;

/** `error: …` and the hint in the lines after it, as the command line writes them. */
function lastError(stderr: string): string | undefined {
  const start = stderr.lastIndexOf("error: ");
  const text = start >= 0 ? stderr.slice(start + "error: ".length) : stderr;
  return text.replaceAll(/\s+/g, " ").trim() || undefined;
}
