import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { afterEach } from "vitest";

const NPM = process.platform === "win32" ? "npm.cmd" : "npm";
const children: ChildProcessByStdio<null, Readable, Readable>[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

export interface RunOptions {
  /** `direct` leaves npm out, for the many cases where it does not matter. */
  readonly how?: "npm" | "direct";
  readonly isGroup?: boolean;
  /** Besides our own environment, from which every setting is taken out. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The CLI as others script it. */
export function excursor(args: readonly string[], { how = "direct", isGroup = false, environment }: RunOptions = {}) {
  const [command, ...rest] =
    how === "npm" ? [NPM, "run", "-s", "excursor", "--"] : [process.execPath, "bin/excursor.js"];
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("EXCURSOR_"));
  const child = spawn(command, [...rest, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: isGroup,
    env: { ...Object.fromEntries(inherited), ...environment },
  });
  children.push(child);
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    output.stderr += chunk;
  });
  const exited = once(child, "close").then(([code, signal]) => ({ code, signal, ...output }));
  const firstLine = async () => {
    while (!output.stdout.includes("\n")) {
      const [chunk] = await Promise.race([once(child.stdout, "data"), exited.then(() => [undefined])]);
      if (chunk === undefined) throw new Error(`it exited: ${output.stderr}`);
    }
    return output.stdout.split("\n")[0] ?? "";
  };
  return { child, exited, firstLine, output };
}
