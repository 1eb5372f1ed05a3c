import type { ErrorKind } from "../core/errors.ts";

/** Exit codes in the tradition of sysexits. */
const EXIT_CODES = {
  "invalid-request": 65,
  "context-overflow": 65,
  unauthenticated: 77,
  "payment-required": 77,
  forbidden: 77,
  "not-found": 65,
  "model-not-found": 65,
  deprecated: 78,
  "too-large": 65,
  "outdated-client": 78,
  "rate-limited": 75,
  "quota-exhausted": 75,
  canceled: 130,
  internal: 70,
  unsupported: 69,
  "upstream-failed": 69,
  "upstream-protocol": 69,
  "upstream-unavailable": 69,
  timeout: 69,
  config: 78,
  busy: 75,
  io: 74,
} as const satisfies Record<ErrorKind, number>;

export const exitCodeOf = (kind: ErrorKind): number => EXIT_CODES[kind];
