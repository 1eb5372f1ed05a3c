import type { ExcursorError } from "../../../core/errors.ts";

/** What is known of an attempt that failed. */
export interface FailedAttempt {
  readonly error: ExcursorError;
  /** The backend can have begun to act on it. */
  readonly wasReached: boolean;
  /** The client was shown something, in this attempt or an earlier one. */
  readonly hasShown: boolean;
  /** It was shown something that the last checkpoint does not cover. */
  readonly hasShownSinceCheckpoint: boolean;
  /** A checkpoint came in this run. */
  readonly hasCheckpoint: boolean;
  /** It began from a checkpoint of an earlier turn. */
  readonly isContinued: boolean;
  readonly hasOtherEncoding: boolean;
  readonly hasMaxMode: boolean;
  /** What was tried before, each at most once; resuming a few times. */
  readonly tried: ReadonlySet<NextAttempt>;
  readonly resumes: number;
  /** How long it had taken to fail. */
  readonly ageMs: number;
}

export type NextAttempt = "again" | "renew" | "other-encoding" | "max-mode" | "rebuild" | "resume";

const MAX_RESUMES = 3;

/** Whoever has waited this long for a connection is not helped by another try. */
const MAX_AGE_MS = 10_000;

/**
 * What may follow a failure without asking anybody. Once the backend has begun, nothing is run again, with these
 * exceptions: a dropped stream resumes from a checkpoint that covers all that was shown; a model's name is tried in its
 * other form, or in max mode, while there is not one token; a token that is refused is renewed, and a checkpoint that the
 * backend has lost is told anew, before anything was shown.
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
  if (attempt.isContinued && /Blob not found/.test(error.message) && isNew("rebuild")) return "rebuild";
  const isRefusedName = error.kind === "model-not-found" || error.kind === "not-found" || error.code === "capacity";
  if (isRefusedName && attempt.hasOtherEncoding && isNew("other-encoding")) return "other-encoding";
  return undefined;
}

/** The stream is gone, and the backend did not say why. What it says itself, also that it is unavailable, stands. */
const isDrop = ({ code }: ExcursorError): boolean => DROPS.includes(code);

const DROPS: readonly string[] = [
  "connection_failed",
  "connection_reset",
  "half_open",
  "idle_timeout",
  "stream_reset",
  "stream_truncated",
  "turn_not_ended",
];

/** A pause before the same is tried again, at random, so that many who failed together do not come back together. */
export const pauseMs = (next: NextAttempt, resumes: number): number =>
  next === "again" || (next === "resume" && resumes > 1) ? 250 + Math.random() * 1750 : 0;
