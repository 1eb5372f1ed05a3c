import { describe, expect, test } from "vitest";
import { openAiChat } from "../../../src/faces/openai-chat/index.ts";
import { ErrorDetails_Error } from "../../../src/gen/aiserver/v1/error_pb.ts";
import { parseEndOfStream } from "../../../src/wire/connect/end-of-stream.ts";

/** What a client is told of an error that ended the upstream's stream. */
function told(failure: object): string {
  const { error } = parseEndOfStream(Buffer.from(JSON.stringify({ error: failure })));
  if (!error) throw new Error("expected an error");
  const { status, body } = openAiChat.error(error, "r1");
  const { type, code } = (body as { readonly error: { readonly type: string; readonly code: string } }).error;
  return `${status} ${type} ${code}`;
}

/** As the protocol's table has it, but that none is a 409: the official SDKs repeat that. */
const NAMED: Readonly<Record<string, string>> = {
  "401 authentication_error invalid_api_key":
    "BAD_API_KEY NOT_LOGGED_IN INVALID_AUTH_ID USER_NOT_FOUND AUTH_TOKEN_NOT_FOUND AGENT_REQUIRES_LOGIN UNAUTHORIZED BAD_USER_API_KEY",
  "401 authentication_error token_expired": "AUTH_TOKEN_EXPIRED",
  "403 permission_error permission_denied": "NOT_HIGH_ENOUGH_PERMISSIONS",
  "403 permission_error plan_required": "PRO_USER_ONLY",
  "403 permission_error hooks_blocked": "HOOKS_BLOCKED",
  "403 permission_error suspicious_usage_blocked": "SUSPICIOUS_USAGE_BLOCKED",
  "403 permission_error model_blocked": "MODEL_BLOCKED",
  "403 permission_error unsupported_region": "UNSUPPORTED_REGION",
  "403 permission_error account_closed": "ACCOUNT_CLOSED",
  "404 invalid_request_error model_not_found": "BAD_MODEL_NAME MODEL_NO_LONGER_SUPPORTED",
  "404 invalid_request_error not_found": "FILE_NOT_FOUND NOT_FOUND",
  "429 rate_limit_error rate_limit_exceeded":
    "FREE_USER_RATE_LIMIT_EXCEEDED PRO_USER_RATE_LIMIT_EXCEEDED OPENAI_RATE_LIMIT_EXCEEDED OPENAI_ACCOUNT_LIMIT_EXCEEDED GENERIC_RATE_LIMIT_EXCEEDED GPT_4_VISION_PREVIEW_RATE_LIMIT API_KEY_RATE_LIMIT RATE_LIMITED RATE_LIMITED_CHANGEABLE",
  "429 rate_limit_error capacity": "RESOURCE_EXHAUSTED",
  "429 insufficient_quota insufficient_quota": "FREE_USER_USAGE_LIMIT PRO_USER_USAGE_LIMIT",
  "402 insufficient_quota payment_required": "USAGE_PRICING_REQUIRED USAGE_PRICING_REQUIRED_CHANGEABLE",
  "400 invalid_request_error context_length_exceeded": "MAX_TOKENS CONVERSATION_TOO_LONG",
  "400 invalid_request_error image_too_large": "CLAUDE_IMAGE_TOO_LARGE",
  "400 invalid_request_error max_mode_required": "MAX_MODE_REQUIRED",
  "400 invalid_request_error invalid_request":
    "BAD_REQUEST REPOSITORY_SERVICE_REPOSITORY_IS_NOT_INITIALIZED GITHUB_NO_USER_CREDENTIALS GITHUB_USER_NO_ACCESS GITHUB_APP_NO_ACCESS GITHUB_MULTIPLE_OWNERS",
  "410 invalid_request_error deprecated": "DEPRECATED",
  "426 invalid_request_error outdated_client": "OUTDATED_CLIENT",
  "499 server_error canceled": "USER_ABORTED_REQUEST",
  "499 server_error debounced": "DEBOUNCED",
  "500 server_error upstream_internal": "INTERNAL",
  "502 server_error upstream_error": "OPENAI NETWORK_ERROR PROVIDER_ERROR",
  "504 server_error timeout": "TIMEOUT EXTENSION_HOST_TIMEOUT",
  // These say nothing of the cause: the Connect code does, which is `unavailable` here.
  "503 server_error upstream_unavailable": "UNSPECIFIED CUSTOM_MESSAGE CUSTOM PRICING_WARNING SLOW_POOL",
};

const BY_CODE: Readonly<Record<string, string>> = {
  canceled: "499 server_error canceled",
  unknown: "502 server_error upstream_error",
  invalid_argument: "400 invalid_request_error invalid_request",
  deadline_exceeded: "504 server_error timeout",
  not_found: "404 invalid_request_error not_found",
  already_exists: "400 invalid_request_error invalid_request",
  aborted: "503 server_error upstream_unavailable",
  permission_denied: "403 permission_error permission_denied",
  resource_exhausted: "429 rate_limit_error rate_limit_exceeded",
  failed_precondition: "400 invalid_request_error invalid_request",
  out_of_range: "400 invalid_request_error invalid_request",
  unimplemented: "501 invalid_request_error unsupported",
  internal: "502 server_error upstream_error",
  unavailable: "503 server_error upstream_unavailable",
  data_loss: "502 server_error upstream_error",
  unauthenticated: "401 authentication_error invalid_api_key",
};

describe("each error of the backend's has its status, type and code", () => {
  const rows = Object.entries(NAMED).flatMap(([row, names]) => names.split(" ").map((name) => [name, row] as const));

  test.each(rows)("%s: %s", (name, row) => {
    const details = [{ type: "aiserver.v1.ErrorDetails", debug: { error: `ERROR_${name}` } }];
    expect(told({ code: "unavailable", message: "m", details })).toBe(row);
  });

  test("none is missing above", () => {
    expect(rows.map(([name]) => name).sort()).toEqual(Object.keys(ErrorDetails_Error).sort());
  });

  test.each(Object.entries(BY_CODE))("the Connect code %s alone: %s", (code, row) => {
    expect(told({ code, message: "m" })).toBe(row);
  });
});
