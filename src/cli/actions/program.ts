import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { loadConfig } from "../../app/load-config.ts";
import { ExcursorError } from "../../core/errors.ts";
import { FACE_HEALTH_PATH } from "../../faces/cursor/index.ts";
import { checkPortIsKnown, gatewayAddress } from "../gateway-address.ts";

export interface RunFlags {
  readonly url?: string | undefined;
  readonly cursorUrl?: string | undefined;
  readonly withKey: boolean;
}

const CHECK_MS = 5000;

/** Starts a program with the variables that lead its clients here, and ends as it does. */
export async function runProgram(command: string, args: readonly string[], flags: RunFlags): Promise<never> {
  const gateway = gatewayAddress({ url: flags.url });
  checkPortIsKnown(gateway);
  const cursorUrl = flags.cursorUrl?.replace(/\/$/, "") ?? cursorAddress();
  await Promise.all([
    check(`${gateway.url}/healthz`, "status", noGateway(gateway.url)),
    check(cursorUrl + FACE_HEALTH_PATH, "face", noFace(cursorUrl)),
  ]);
  const key = gateway.key.reveal();
  const env = {
    ...process.env,
    CURSOR_BACKEND_URL: cursorUrl,
    CURSOR_API_ENDPOINT: cursorUrl,
    CURSOR_API_BASE_URL: cursorUrl,
    ...(flags.withKey && { CURSOR_API_KEY: key }),
    OPENAI_BASE_URL: `${gateway.url}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: gateway.url,
    ANTHROPIC_AUTH_TOKEN: key,
    // One in the shell would go out beside the token.
    ANTHROPIC_API_KEY: "",
  };
  const child = spawn(command, args, { stdio: "inherit", env });
  passSignals(child);
  const { code, signal } = await ended(child, command);
  if (signal) process.exit(128 + constants.signals[signal]);
  process.exit(code ?? 1);
}

function cursorAddress(): string {
  const { cursorPort } = loadConfig({ flags: {}, environment: process.env }).values;
  if (cursorPort !== 0) return `http://127.0.0.1:${cursorPort}`;
  throw new ExcursorError("config", "The port for Cursor's clients is 0: it is picked anew on every start.", {
    hint: "Set cursorPort in the settings, or give the address that `serve` printed with --cursor-url.",
  });
}

/** Throws unless JSON with this member is at the address. */
async function check(address: string, member: string, otherwise: ExcursorError): Promise<void> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(CHECK_MS), redirect: "error" });
    if (Object.hasOwn((await response.json()) as object, member)) return;
  } catch {
    // Nothing is there, or something else.
  }
  throw otherwise;
}

const noGateway = (url: string): ExcursorError =>
  new ExcursorError("upstream-unavailable", `No gateway runs at ${url}.`, {
    hint: "Start one with `excursor serve --cursor-face`, or give its address with --url.",
  });

const noFace = (url: string): ExcursorError =>
  new ExcursorError("upstream-unavailable", `No gateway serves Cursor's clients at ${url}.`, {
    hint: "Start it with `excursor serve --cursor-face`, or give the address that it printed with --cursor-url.",
  });

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
