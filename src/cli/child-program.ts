import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { basename, join } from "node:path";
import { openHome } from "../config/home.ts";
import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";

interface ClientTargets {
  /** Of the gateway. */
  readonly url: string;
  /** Of the listener for Cursor's clients. */
  readonly cursorUrl: string;
  readonly key: Secret;
  /** Gives the key to Cursor's clients, too. */
  readonly withKey: boolean;
}

/** Returns our environment with the variables that lead a program's clients here. */
export function clientVariables({ url, cursorUrl, key, withKey }: ClientTargets): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CURSOR_BACKEND_URL: cursorUrl,
    CURSOR_API_ENDPOINT: cursorUrl,
    CURSOR_API_BASE_URL: cursorUrl,
    ...(withKey && { CURSOR_API_KEY: key.reveal() }),
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: key.reveal(),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key.reveal(),
    // One in the shell would go out beside the token.
    ANTHROPIC_API_KEY: "",
  };
}

/** The part of a command line that leads Cursor's own one here. */
interface LedCommand {
  readonly args: readonly string[];
  readonly variables: NodeJS.ProcessEnv;
}

/**
 * Returns the command with what leads it here. Cursor's command line takes the host of its runs from a flag only, and keeps what
 * a backend has named in its config folder: so it gets both flags, and a folder of its own.
 */
export function leadCommand(command: string, args: readonly string[], cursorUrl: string, home: string): LedCommand {
  if (!/^cursor-agent(?:\.\w+)?$/.test(basename(command))) return { args, variables: {} };
  openHome(home);
  const folder = join(home, "cursor-agent");
  openHome(folder);
  return {
    // Flags of the user's own come later, and so win.
    args: ["-e", cursorUrl, "--agent-endpoint", cursorUrl, ...args],
    variables: { CURSOR_CONFIG_DIR: folder },
  };
}

/** Runs a program on our terminal, passes signals on to it, and returns its exit code. */
export async function runChild(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, args, { stdio: "inherit", env });
  passSignals(child);
  const { code, signal } = await ended(child, command);
  return signal ? 128 + constants.signals[signal] : (code ?? 1);
}

function ended(child: ChildProcess, command: string): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => reject(notStarted(command, error)));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

const notStarted = (command: string, error: NodeJS.ErrnoException): ExcursorError =>
  new ExcursorError("config", `The program ${command} cannot be started: ${error.code ?? error.message}.`, {
    hint: error.code === "ENOENT" ? "Check its name; it is looked for on the PATH." : null,
    cause: error,
  });

/** A terminal sends Ctrl-C to the program itself; all other signals reach only us. */
function passSignals(child: ChildProcess): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
}
