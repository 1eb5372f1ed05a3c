import { loadConfig } from "../../app/load-config.ts";
import { ExcursorError } from "../../core/errors.ts";
import { FACE_HEALTH_PATH } from "../../faces/cursor/index.ts";
import { clientVariables, runChild } from "../child-program.ts";
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
  const env = clientVariables({ url: gateway.url, cursorUrl, key: gateway.key, withKey: flags.withKey });
  process.exit(await runChild(command, args, env));
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
