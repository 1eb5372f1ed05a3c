import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

export type Environment = Readonly<Record<string, string>>;

export interface Excursor {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<Ending>;
}

export interface Ending {
  /** Null if it could not be started or was killed. */
  readonly code: number | null;
  /** The error in one line without secrets; empty on success. */
  readonly reason: string;
}

const BIN = fileURLToPath(new URL("../../bin/excursor.js", import.meta.url));

const MAX_STDERR_CHARACTERS = 4096;

/** Starts our command line with Node. The process that loads this plugin may be another runtime. */
export function spawnExcursor(args: readonly string[], environment: Environment): Excursor {
  const child = spawn("node", [BIN, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", ...environment },
  });
  // An ended command does not read its stdin; its exit code tells why it ended.
  child.stdin.on("error", () => {});
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-MAX_STDERR_CHARACTERS);
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => resolve({ code: null, reason: startProblem(error) }));
    // `close` and not `exit`, because output may still arrive after `exit`.
    child.once("close", (code, signal) =>
      resolve({ code, reason: code === 0 ? "" : (lastError(stderr) ?? `excursor ended with ${code ?? signal}.`) }),
    );
  });
  return { child, ended };
}

/** Returns the first line of output. Rejects with the command's error if it ends without one. */
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

/** Runs a command to its end with the given stdin, within a time limit. */
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
  code === "ENOENT" ? "`node` was not found in PATH. Excursor needs Node 22.13 or newer." : message;

/** Returns the text after `error: `, with the hint in the lines after it. */
function lastError(stderr: string): string | undefined {
  const start = stderr.lastIndexOf("error: ");
  const text = start >= 0 ? stderr.slice(start + "error: ".length) : stderr;
  return text.replaceAll(/\s+/g, " ").trim() || undefined;
}
