import type { ExcursorError } from "../../../core/errors.ts";

export interface FailedAttempt {
  readonly error: ExcursorError;
  /** True if the backend may have processed it. */
  readonly wasReached: boolean;
  /** True if the client was shown something, in any attempt. */
  readonly hasShown: boolean;
  /** True if the client was shown something that the last checkpoint does not contain. */
  readonly hasShownSinceCheckpoint: boolean;
  readonly hasCheckpoint: boolean;
  /** True if it began from a checkpoint of an earlier turn. */
  readonly isContinued: boolean;
  /** True if it began from a suspended turn, and the backend has not taken all of its results. */
  readonly isOwed: boolean;
  readonly hasOtherEncoding: boolean;
  readonly hasMaxMode: boolean;
  /** What was tried before. Each is tried at most once; resuming a few times. */
  readonly tried: ReadonlySet<NextAttempt>;
  readonly resumes: number;
  /** How long the attempt took to fail. */
  readonly ageMs: number;
}

export type NextAttempt = "again" | "renew" | "other-encoding" | "max-mode" | "rebuild" | "resume";

const MAX_RESUMES = 3;

/** A client that has waited this long for a connection is not helped by a retry. */
const MAX_AGE_MS = 10_000;

/**
 * Returns the next attempt that is safe after a failure. Once the backend has begun, nothing runs again, except:
 * - a dropped stream resumes from a checkpoint that contains all that was shown;
 * - the model's other encoding or max mode is tried before the first token;
 * - a refused token is renewed before anything was shown;
 * - a checkpoint that is lost or refused is replaced by the transcript before anything was shown.
 */
export function nextAttempt(attempt: FailedAttempt): NextAttempt | undefined {
  const { error, tried } = attempt;
  const isNew = (next: NextAttempt) => !tried.has(next);
  if (!attempt.wasReached && error.retryable && attempt.ageMs < MAX_AGE_MS && isNew("again")) return "again";
  if (isDrop(error) && attempt.hasCheckpoint && !attempt.hasShownSinceCheckpoint && attempt.resumes < MAX_RESUMES) {
    return "resume";
  }
  if (attempt.hasShown) return undefined;
  if (error.kind === "unauthenticated" && isNew("renew")) return "renew";
  if (error.code === "max_mode_required" && attempt.hasMaxMode && isNew("max-mode")) return "max-mode";
  const isRefusedState = attempt.isContinued && /Blob not found/.test(error.message);
  if ((isRefusedState || (attempt.isOwed && STATE_REFUSALS.has(error.kind))) && isNew("rebuild")) return "rebuild";
  const isRefusedName = error.kind === "model-not-found" || error.kind === "not-found" || NAME_REFUSALS.has(error.code);
  if (isRefusedName && attempt.hasOtherEncoding && isNew("other-encoding")) return "other-encoding";
  return undefined;
}

/** Refusals that a state causes from which the backend cannot resume. */
const STATE_REFUSALS: ReadonlySet<string> = new Set(["invalid-request", "not-found", "upstream-failed"]);

/** Refusals that a wrong encoding of the model also causes. */
const NAME_REFUSALS: ReadonlySet<string> = new Set(["capacity", "refused_without_reason"]);

/**
 * True if the stream was lost without an error of the backend. An error of the backend is final, even "unavailable".
 */
export const isDrop = ({ code }: ExcursorError): boolean => DROPS.includes(code);

const DROPS: readonly string[] = [
  "connection_failed",
  "connection_reset",
  "half_open",
  "idle_timeout",
  "stream_reset",
  "stream_truncated",
  "turn_not_ended",
];

/** Returns a random pause before a retry, so that clients that failed together do not return together. */
export const pauseMs = (next: NextAttempt, resumes: number): number =>
  next === "again" || (next === "resume" && resumes > 1) ? 250 + Math.random() * 1750 : 0;
