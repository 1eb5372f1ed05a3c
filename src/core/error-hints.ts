import type { ErrorKind } from "./errors.ts";

const PLAN = "Check your plan and limits with the upstream.";

/**
 * The hints of errors that bring none. Each kind that an upstream can cause has one. Errors of our own bring theirs, and a
 * cancellation needs none.
 */
export const DEFAULT_HINTS: Readonly<Record<ErrorKind, string | undefined>> = {
  "invalid-request": "Change the request. The same request will fail again.",
  "context-overflow": "Shorten the conversation, or start a new one.",
  unauthenticated: "Check the key or token, or log in again.",
  "payment-required": PLAN,
  forbidden: "Check what your account and its plan allow.",
  "not-found": "Check the name and the URL.",
  "model-not-found": "List the models and pick another one.",
  deprecated: "Update Excursor.",
  "too-large": "Send less data at once.",
  "outdated-client": "Update Excursor, or set a newer clientVersion.",
  "rate-limited": "Wait a moment, then try again.",
  "quota-exhausted": PLAN,
  canceled: undefined,
  internal: undefined,
  unsupported: "Remove what is not supported, or choose another model.",
  "upstream-failed": "Try again in a moment, or with another model.",
  "upstream-protocol": "Check the upstream address and any proxy. If both are correct, update Excursor.",
  "upstream-unavailable": "Check the network and try again in a moment.",
  timeout: "Try again in a moment. If it happens again, check the network.",
  config: undefined,
  busy: undefined,
  io: "Check that the disk has free space and is writable.",
};
