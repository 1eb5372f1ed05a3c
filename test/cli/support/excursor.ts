import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const NPM = process.platform === "win32" ? "npm.cmd" : "npm";
/** Whatever programs of Cursor there may be on this machine, their logins are not for tests. */
const NOWHERE = "/nonexistent";

export interface RunOptions {
  /** `direct` leaves npm out, for the many cases where it does not matter. */
  readonly how?: "npm" | "direct";
  readonly isGroup?: boolean;
  /** Besides our own environment, from which every setting is taken out, and every login of the machine. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What it reads on stdin; without it there is none. Null leaves stdin open. */
  readonly input?: string | null;
  /** Where it is run, if not here. */
  readonly folder?: string;
}

const MAIN = fileURLToPath(new URL("../../../bin/excursor.js", import.meta.url));

/** The CLI as others script it. */
export function excursor(
  args: readonly string[],
  { how = "direct", isGroup = false, environment, input, folder }: RunOptions = {},
) {
  const [command, ...rest] = how === "npm" ? [NPM, "run", "-s", "excursor", "--"] : [process.execPath, MAIN];
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:EXCURSOR|CURSOR|XDG)_/.test(name));
  const child = spawn(command, [...rest, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    detached: isGroup,
    cwd: folder,
    env: { ...Object.fromEntries(inherited), EXCURSOR_KEYCHAIN: "off", HOME: NOWHERE, ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.on("error", () => {});
  if (input !== null) child.stdin.end(input ?? "");
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
