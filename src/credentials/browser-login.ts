import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleepFor } from "node:timers/promises";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import type { AuthClient, TokenPair } from "./auth-client.ts";

/** A login that waits for approval in a browser (PKCE). */
export interface PendingLogin {
  /** For the browser. Contains no secret. */
  readonly url: string;
  readonly uuid: string;
  readonly challenge: string;
  /** Proves that the tokens are fetched by the process that began the login. */
  readonly verifier: Secret;
}

export function beginLogin(website: string): PendingLogin {
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const uuid = randomUUID();
  const query = new URLSearchParams({ challenge, uuid, mode: "login", redirectTarget: "cli" });
  return { url: `${website}/loginDeepControl?${query}`, uuid, challenge, verifier: new Secret(verifier) };
}

export interface WaitOptions {
  readonly signal: AbortSignal;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;
const GROWTH = 1.2;
const MAX_POLLS = 150;
const MAX_FAILURES = 3;

const sleepUntil = (ms: number, signal: AbortSignal) => sleepFor(ms, undefined, { signal });

/**
 * Polls until the login is approved, at growing intervals or as slowly as the backend asks, for about 25 minutes.
 * Throws after three failures in a row.
 */
export async function waitForLogin(
  auth: AuthClient,
  { uuid, verifier }: PendingLogin,
  { signal, sleep = sleepUntil }: WaitOptions,
): Promise<TokenPair> {
  let pauseMs = FIRST_PAUSE_MS;
  let failures = 0;
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    await sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * GROWTH, LONGEST_PAUSE_MS);
    try {
      const pair = await auth.poll(uuid, verifier, signal);
      if (pair) return pair;
      failures = 0;
    } catch (thrown) {
      const error = ExcursorError.from(thrown);
      if (signal.aborted) throw error;
      // A rate limit does not count as a failure.
      if (error.kind === "rate-limited") pauseMs = Math.max(pauseMs, error.retryAfterMs ?? LONGEST_PAUSE_MS);
      else if (++failures === MAX_FAILURES) throw error;
    }
  }
  throw new ExcursorError("login_timeout");
}
