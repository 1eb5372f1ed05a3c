import type { ErrorKind } from "../../core/errors.ts";
import type { ErrorDetails_Error } from "../../gen/aiserver/v1/error_pb.ts";

/**
 * How we classify an error of the backend. {@link CURSOR_ERRORS} is for errors that name an
 * `aiserver.v1.ErrorDetails.Error`, {@link CONNECT_CODES} for those with only a Connect code.
 */
export interface Meaning {
  readonly kind: ErrorKind;
  /** If more specific than the kind's own. */
  readonly code?: string;
  /** If different from the kind's default. Overrides what the backend says about this failure. */
  readonly retryable?: boolean;
  readonly hint?: string;
}

export type CursorErrorName = keyof typeof ErrorDetails_Error;

const LOG_IN = "Sign in again with `excursor login`.";
const NEW_VERSION = "Set a newer clientVersion in the settings.";
const OTHER_MODEL = "List the models and pick another one.";
const OWN_KEY = "Check the provider key in your Cursor settings.";
const SHORTEN = "Shorten the conversation, or start a new one.";
const PLAN = "Check your plan and limits in the Cursor dashboard.";
const GITHUB = "Check the GitHub connection in the Cursor dashboard.";

const loggedOut: Meaning = { kind: "unauthenticated", hint: LOG_IN };
const rateLimited: Meaning = { kind: "rate-limited" };
const badRequest: Meaning = { kind: "invalid-request" };
const forbidden: Meaning = { kind: "forbidden" };
const notFound: Meaning = { kind: "not-found" };
const usedUp: Meaning = { kind: "quota-exhausted", hint: PLAN };
const toPay: Meaning = { kind: "payment-required", hint: PLAN };
const tooLong: Meaning = { kind: "context-overflow", hint: SHORTEN };
const noSuchModel: Meaning = { kind: "model-not-found", hint: OTHER_MODEL };
const failed: Meaning = { kind: "upstream-failed" };
const github: Meaning = { kind: "invalid-request", hint: GITHUB };

/** An old client version. The backend reports it in more than one way. */
export const OUTDATED: Meaning = { kind: "outdated-client", hint: NEW_VERSION };

/** A refusal that the backend also uses for an old client version. */
export const MAYBE_OUTDATED: Meaning = {
  kind: "forbidden",
  hint: "Check what your account and its plan allow. Cursor also rejects an outdated client in this way: set a newer clientVersion.",
};

/** `byCode`: the name does not tell the cause; the Connect code does. */
export const CURSOR_ERRORS: Readonly<Record<CursorErrorName, Meaning | "byCode">> = {
  UNSPECIFIED: "byCode",
  BAD_API_KEY: { kind: "unauthenticated", hint: OWN_KEY },
  NOT_LOGGED_IN: loggedOut,
  INVALID_AUTH_ID: loggedOut,
  NOT_HIGH_ENOUGH_PERMISSIONS: forbidden,
  BAD_MODEL_NAME: noSuchModel,
  USER_NOT_FOUND: loggedOut,
  FREE_USER_RATE_LIMIT_EXCEEDED: rateLimited,
  PRO_USER_RATE_LIMIT_EXCEEDED: rateLimited,
  FREE_USER_USAGE_LIMIT: usedUp,
  PRO_USER_USAGE_LIMIT: usedUp,
  AUTH_TOKEN_NOT_FOUND: loggedOut,
  AUTH_TOKEN_EXPIRED: { kind: "unauthenticated", code: "token_expired", hint: LOG_IN },
  OPENAI: failed,
  OPENAI_RATE_LIMIT_EXCEEDED: rateLimited,
  OPENAI_ACCOUNT_LIMIT_EXCEEDED: rateLimited,
  AGENT_REQUIRES_LOGIN: loggedOut,
  MAX_TOKENS: tooLong,
  USER_ABORTED_REQUEST: { kind: "canceled" },
  GENERIC_RATE_LIMIT_EXCEEDED: rateLimited,
  PRO_USER_ONLY: { kind: "forbidden", code: "plan_required", hint: PLAN },
  TIMEOUT: { kind: "timeout" },
  GPT_4_VISION_PREVIEW_RATE_LIMIT: { kind: "rate-limited", retryable: false },
  CUSTOM_MESSAGE: "byCode",
  OUTDATED_CLIENT: OUTDATED,
  CLAUDE_IMAGE_TOO_LARGE: { kind: "invalid-request", code: "image_too_large", hint: "Send a smaller image." },
  FILE_NOT_FOUND: notFound,
  API_KEY_RATE_LIMIT: rateLimited,
  DEBOUNCED: { kind: "canceled", code: "debounced" },
  BAD_REQUEST: badRequest,
  REPOSITORY_SERVICE_REPOSITORY_IS_NOT_INITIALIZED: badRequest,
  UNAUTHORIZED: loggedOut,
  NOT_FOUND: notFound,
  DEPRECATED: { kind: "deprecated", hint: NEW_VERSION },
  RESOURCE_EXHAUSTED: { kind: "rate-limited", code: "capacity" },
  BAD_USER_API_KEY: { kind: "unauthenticated", hint: "Check your Cursor API key." },
  CONVERSATION_TOO_LONG: tooLong,
  USAGE_PRICING_REQUIRED: toPay,
  USAGE_PRICING_REQUIRED_CHANGEABLE: toPay,
  GITHUB_NO_USER_CREDENTIALS: github,
  GITHUB_USER_NO_ACCESS: github,
  GITHUB_APP_NO_ACCESS: github,
  GITHUB_MULTIPLE_OWNERS: github,
  RATE_LIMITED: rateLimited,
  RATE_LIMITED_CHANGEABLE: rateLimited,
  CUSTOM: "byCode",
  HOOKS_BLOCKED: { kind: "forbidden", code: "hooks_blocked" },
  SUSPICIOUS_USAGE_BLOCKED: { kind: "forbidden", code: "suspicious_usage_blocked" },
  EXTENSION_HOST_TIMEOUT: { kind: "timeout" },
  NETWORK_ERROR: failed,
  PROVIDER_ERROR: failed,
  MODEL_BLOCKED: { kind: "forbidden", code: "model_blocked", hint: OTHER_MODEL },
  INTERNAL: { kind: "internal", code: "upstream_internal", retryable: true },
  MAX_MODE_REQUIRED: { kind: "invalid-request", code: "max_mode_required", hint: "This needs max mode." },
  MODEL_NO_LONGER_SUPPORTED: noSuchModel,
  PRICING_WARNING: "byCode",
  SLOW_POOL: "byCode",
  UNSUPPORTED_REGION: { kind: "forbidden", code: "unsupported_region" },
  ACCOUNT_CLOSED: { kind: "forbidden", code: "account_closed" },
};

/** Values of `x-cursor-inference-request-error-type` that a retry cannot fix. Most are names of that table. */
export const FINAL_ERROR_TYPES: Readonly<Record<string, Meaning>> = Object.fromEntries(
  Object.entries({
    IMAGE_TOO_LARGE: CURSOR_ERRORS.CLAUDE_IMAGE_TOO_LARGE,
    MAX_TOKENS: CURSOR_ERRORS.MAX_TOKENS,
    CONVERSATION_TOO_LONG: CURSOR_ERRORS.CONVERSATION_TOO_LONG,
    CONTENT_POLICY: { kind: "invalid-request", code: "content_policy" } satisfies Meaning,
    DEPRECATED: CURSOR_ERRORS.DEPRECATED,
    MAX_MODE_REQUIRED: CURSOR_ERRORS.MAX_MODE_REQUIRED,
    MODEL_NO_LONGER_SUPPORTED: CURSOR_ERRORS.MODEL_NO_LONGER_SUPPORTED,
    UNSUPPORTED_REGION: CURSOR_ERRORS.UNSUPPORTED_REGION,
    OUTDATED_CLIENT: CURSOR_ERRORS.OUTDATED_CLIENT,
  }).flatMap(([name, meaning]) => (meaning === "byCode" ? [] : [[name, { ...meaning, retryable: false }]])),
);

/** The meaning of Connect's codes. None becomes HTTP 409, which clients would retry. */
export const CONNECT_CODES = {
  canceled: { kind: "canceled" },
  unknown: { kind: "upstream-failed" },
  invalid_argument: { kind: "invalid-request" },
  deadline_exceeded: { kind: "timeout" },
  not_found: { kind: "not-found" },
  already_exists: { kind: "invalid-request" },
  permission_denied: { kind: "forbidden" },
  resource_exhausted: { kind: "rate-limited" },
  failed_precondition: { kind: "invalid-request" },
  aborted: { kind: "upstream-unavailable" },
  out_of_range: { kind: "invalid-request" },
  unimplemented: { kind: "unsupported" },
  internal: { kind: "upstream-failed" },
  unavailable: { kind: "upstream-unavailable" },
  data_loss: { kind: "upstream-failed", retryable: false },
  unauthenticated: { kind: "unauthenticated", hint: LOG_IN },
} as const satisfies Record<string, Meaning>;

export type ConnectCode = keyof typeof CONNECT_CODES;

export function isConnectCode(value: unknown): value is ConnectCode {
  return typeof value === "string" && Object.hasOwn(CONNECT_CODES, value);
}
