import { readCursorToken } from "../config/cursor-token.ts";
import { keyOf } from "../config/key-file.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { AccessTokens } from "../core/access.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { createGivenAccess } from "../credentials/given-access.ts";
import { createLog, type Log } from "../observe/log.ts";
import { createRedactor } from "../observe/redactor.ts";
import { startGateway } from "../server/gateway.ts";
import { isLoopback } from "../server/public-bind.ts";
import type { Simulator } from "../sim/server.ts";
import { composeGateway } from "./compose-gateway.ts";

export interface OpenOptions {
  /** Puts the embedded simulator behind it. */
  readonly isDemo: boolean;
  readonly writeLog: (text: string) => void;
}

export interface RunningGateway {
  readonly url: string;
  readonly port: number;
  readonly key: Secret;
  readonly log: Log;
  /** Lets answers finish, for as long as the settings or the caller say. */
  close(graceMs?: number): Promise<void>;
}

/** Starts a gateway in this process, by the settings. */
export async function openGateway(loaded: LoadedConfig, { isDemo, writeLog }: OpenOptions): Promise<RunningGateway> {
  const { values: config, home } = loaded;
  // Who says that callers bring their own accounts needs none.
  if (!isDemo && !config.token && config.allowTokens !== true) throw notSignedIn();
  const key = config.key ?? keyOf(home);
  const redactor = createRedactor();
  for (const secret of [key, config.token]) if (secret) redactor.add(secret.reveal());
  const log = createLog({ level: config.logLevel, redactor, write: writeLog, isPretty: process.stderr.isTTY });

  const sim: Simulator | undefined = isDemo ? await startSimulator() : undefined;
  const access = sim ? createGivenAccess(new Secret("demo")) : accessOf(config.token);
  const upstream = sim ? { origin: sim.url, isDemo } : { isDemo };
  const parts = await composeGateway({ config, home, log, access, ...upstream });
  try {
    const gateway = await startGateway({
      ...config,
      ...parts,
      key,
      allowsTokens: config.allowTokens ?? isLoopback(config.host),
      log,
      redactor,
    });
    return {
      url: gateway.url,
      port: gateway.port,
      key,
      log,
      async close(graceMs) {
        await gateway.close(graceMs);
        await parts.close();
        await sim?.close();
      },
    };
  } catch (error) {
    await parts.close();
    await sim?.close();
    throw error;
  }
}

function accessOf(token: Secret | undefined): AccessTokens {
  if (token) return createGivenAccess(new Secret(readCursorToken(token.reveal()) ?? token.reveal()));
  return { get: () => Promise.reject(notSignedIn()), renew: async () => undefined };
}

/** Only loaded where it is wanted. */
async function startSimulator(): Promise<Simulator> {
  const { startSim } = await import("../sim/server.ts");
  return startSim();
}

const notSignedIn = (): ExcursorError =>
  new ExcursorError("unauthenticated", "No Cursor account is signed in.", {
    code: "not_signed_in",
    hint: "Set EXCURSOR_TOKEN to the token of your account, or allowTokens: true if callers bring theirs, or try it without one: excursor serve --demo",
  });
