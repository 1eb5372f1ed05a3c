import type { ErrorName } from "../../core/errors.ts";
import type { ErrorDetails_Error } from "../../gen/aiserver/v1/error_pb.ts";

/**
 * How we classify an error of the backend. {@link CURSOR_ERRORS} is for errors that name an
 * `aiserver.v1.ErrorDetails.Error`, {@link CONNECT_CODES} for those with only a Connect code.
 */
export interface Meaning {
  readonly error: ErrorName;
  /** If different from the default. Overrides what the backend says about this failure. */
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

const loggedOut: Meaning = { error: "unauthenticated", hint: LOG_IN };
const rateLimited: Meaning = { error: "rate-limited" };
const badRequest: Meaning = { error: "invalid-request" };
const forbidden: Meaning = { error: "forbidden" };
const notFound: Meaning = { error: "not-found" };
const usedUp: Meaning = { error: "quota-exhausted", hint: PLAN };
const toPay: Meaning = { error: "payment-required", hint: PLAN };
const tooLong: Meaning = { error: "context-overflow", hint: SHORTEN };
const noSuchModel: Meaning = { error: "model-not-found", hint: OTHER_MODEL };
const failed: Meaning = { error: "upstream-failed" };
const github: Meaning = { error: "invalid-request", hint: GITHUB };

/** An old client version. The backend reports it in more than one way. */
export const OUTDATED: Meaning = { error: "outdated-client", hint: NEW_VERSION };

/** A refusal that the backend also uses for an old client version. */
export const MAYBE_OUTDATED: Meaning = {
  error: "forbidden",
  hint: "Check what your account and its plan allow. Cursor also rejects an outdated client in this way: set a newer clientVersion.",
};

/** `byCode`: the name does not tell the cause; the Connect code does. */
export const CURSOR_ERRORS: Readonly<Record<CursorErrorName, Meaning | "byCode">> = {
  UNSPECIFIED: "byCode",
  BAD_API_KEY: { error: "unauthenticated", hint: OWN_KEY },
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
  AUTH_TOKEN_EXPIRED: { error: "token_expired" },
  OPENAI: failed,
  OPENAI_RATE_LIMIT_EXCEEDED: rateLimited,
  OPENAI_ACCOUNT_LIMIT_EXCEEDED: rateLimited,
  AGENT_REQUIRES_LOGIN: loggedOut,
  MAX_TOKENS: tooLong,
  USER_ABORTED_REQUEST: { error: "canceled" },
  GENERIC_RATE_LIMIT_EXCEEDED: rateLimited,
  PRO_USER_ONLY: { error: "plan_required" },
  TIMEOUT: { error: "timeout" },
  GPT_4_VISION_PREVIEW_RATE_LIMIT: { error: "rate-limited", retryable: false },
  CUSTOM_MESSAGE: "byCode",
  OUTDATED_CLIENT: OUTDATED,
  CLAUDE_IMAGE_TOO_LARGE: { error: "image_too_large" },
  FILE_NOT_FOUND: notFound,
  API_KEY_RATE_LIMIT: rateLimited,
  DEBOUNCED: { error: "debounced" },
  BAD_REQUEST: badRequest,
  REPOSITORY_SERVICE_REPOSITORY_IS_NOT_INITIALIZED: badRequest,
  UNAUTHORIZED: loggedOut,
  NOT_FOUND: notFound,
  DEPRECATED: { error: "deprecated", hint: NEW_VERSION },
  RESOURCE_EXHAUSTED: { error: "capacity" },
  BAD_USER_API_KEY: { error: "unauthenticated", hint: "Check your Cursor API key." },
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
  HOOKS_BLOCKED: { error: "hooks_blocked" },
  SUSPICIOUS_USAGE_BLOCKED: { error: "suspicious_usage_blocked" },
  EXTENSION_HOST_TIMEOUT: { error: "timeout" },
  NETWORK_ERROR: failed,
  PROVIDER_ERROR: failed,
  MODEL_BLOCKED: { error: "model_blocked" },
  INTERNAL: { error: "upstream_internal", retryable: true },
  MAX_MODE_REQUIRED: { error: "max_mode_required" },
  MODEL_NO_LONGER_SUPPORTED: noSuchModel,
  PRICING_WARNING: "byCode",
  SLOW_POOL: "byCode",
  UNSUPPORTED_REGION: { error: "unsupported_region" },
  ACCOUNT_CLOSED: { error: "account_closed" },
};

/** Values of `x-cursor-inference-request-error-type` that a retry cannot fix. Most are names of that table. */
export const FINAL_ERROR_TYPES: Readonly<Record<string, Meaning>> = Object.fromEntries(
  Object.entries({
    IMAGE_TOO_LARGE: CURSOR_ERRORS.CLAUDE_IMAGE_TOO_LARGE,
    MAX_TOKENS: CURSOR_ERRORS.MAX_TOKENS,
    CONVERSATION_TOO_LONG: CURSOR_ERRORS.CONVERSATION_TOO_LONG,
    CONTENT_POLICY: { error: "content_policy" } satisfies Meaning,
    DEPRECATED: CURSOR_ERRORS.DEPRECATED,
    MAX_MODE_REQUIRED: CURSOR_ERRORS.MAX_MODE_REQUIRED,
    MODEL_NO_LONGER_SUPPORTED: CURSOR_ERRORS.MODEL_NO_LONGER_SUPPORTED,
    UNSUPPORTED_REGION: CURSOR_ERRORS.UNSUPPORTED_REGION,
    OUTDATED_CLIENT: CURSOR_ERRORS.OUTDATED_CLIENT,
  }).flatMap(([name, meaning]) => (meaning === "byCode" ? [] : [[name, { ...meaning, retryable: false }]])),
);

/** The meaning of Connect's codes. None becomes HTTP 409, which clients would retry. */
export const CONNECT_CODES = {
  canceled: { error: "canceled" },
  unknown: { error: "upstream-failed" },
  invalid_argument: { error: "invalid-request" },
  deadline_exceeded: { error: "timeout" },
  not_found: { error: "not-found" },
  already_exists: { error: "invalid-request" },
  permission_denied: { error: "forbidden" },
  resource_exhausted: { error: "rate-limited" },
  failed_precondition: { error: "invalid-request" },
  aborted: { error: "upstream-unavailable" },
  out_of_range: { error: "invalid-request" },
  unimplemented: { error: "unsupported" },
  internal: { error: "upstream-failed" },
  unavailable: { error: "upstream-unavailable" },
  data_loss: { error: "upstream-failed", retryable: false },
  unauthenticated: { error: "unauthenticated", hint: LOG_IN },
} as const satisfies Record<string, Meaning>;

export type ConnectCode = keyof typeof CONNECT_CODES;

export function isConnectCode(value: unknown): value is ConnectCode {
  return typeof value === "string" && Object.hasOwn(CONNECT_CODES, value);
}
