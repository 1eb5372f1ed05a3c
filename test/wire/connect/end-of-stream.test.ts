import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ErrorName, ExcursorError } from "../../../src/core/errors.ts";
import {
  type CustomErrorDetailsSchema,
  ErrorDetails_Error,
  ErrorDetailsSchema,
} from "../../../src/gen/aiserver/v1/error_pb.ts";
import { CONNECT_CODES, CURSOR_ERRORS, type CursorErrorName } from "../../../src/wire/agent/cursor-errors.ts";
import { parseEndOfStream } from "../../../src/wire/connect/end-of-stream.ts";
import { parseRetryAfter } from "../../../src/wire/http/retry-after.ts";

const kindOf = (name: ErrorName) => new ExcursorError(name, "").kind;

const end = (value: unknown) =>
  parseEndOfStream(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));

function errorOf(value: unknown): ExcursorError {
  const { error } = end(value);
  if (!error) throw new Error("expected an error");
  return error;
}

/** As the backend encodes its details. */
function detail(error: number, details: MessageInitShape<typeof CustomErrorDetailsSchema> = {}): string {
  const message = create(ErrorDetailsSchema, { error: error as ErrorDetails_Error, details, isExpected: true });
  return Buffer.from(toBinary(ErrorDetailsSchema, message)).toString("base64").replaceAll("=", "");
}

const withDetails = (code: string, ...details: unknown[]) => ({ error: { code, message: "Error", details } });
const type = "aiserver.v1.ErrorDetails";

describe("REL-19: an end without error", () => {
  test.each(["{}", '{"error":null}', '{"metadata":{}}', ' {"foo":1} '])("%s", (json) => {
    expect(end(json).error).toBeUndefined();
  });

  test("metadata has lower-case names and only text", () => {
    const { metadata } = end({ metadata: { "X-One": ["a", "b"], two: "no", three: [1, "c"] } });
    expect({ ...metadata }).toEqual({ "x-one": ["a", "b"], three: ["c"] });
  });

  test("SEC-24: metadata cannot reach a prototype", () => {
    const { metadata } = end('{"metadata":{"__proto__":["x"],"constructor":["y"]}}');
    expect(Object.getPrototypeOf(metadata)).toBeNull();
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });
});

describe("REL-19: an end that cannot be read is an error", () => {
  test.each(["", "null", "[]", "1", '"x"', "{", "{}x", "{} {}", "\u0000"])("%j", (json) => {
    expect(errorOf(json)).toMatchObject({ kind: "upstream-protocol", code: "end_invalid" });
  });
});

describe("REL-19: an error whose parts are missing, unknown or broken", () => {
  test.each<[name: string, error: unknown, kind: string, message: string]>([
    ["null code", { code: null, message: "oops" }, "upstream-failed", "oops"],
    ["missing code", { message: "oops" }, "upstream-failed", "oops"],
    ["unknown code", { code: "foobar", message: "oops" }, "upstream-failed", "oops"],
    ["code of an object's own", { code: "constructor", message: "oops" }, "upstream-failed", "oops"],
    ["unknown fields", { code: "out_of_range", message: "oops", foobar: "baz" }, "invalid-request", "oops"],
    ["missing message", { code: "internal" }, "upstream-failed", "The backend failed the request (internal)."],
    [
      "useless message",
      { code: "internal", message: "Error" },
      "upstream-failed",
      "The backend failed the request (internal).",
    ],
    [
      "message of another type",
      { code: "internal", message: 7 },
      "upstream-failed",
      "The backend failed the request (internal).",
    ],
    ["no error at all", true, "upstream-failed", "The backend failed the request."],
    ["details of another type", { code: "not_found", message: "oops", details: "x" }, "not-found", "oops"],
    [
      "a foreign detail",
      { code: "not_found", message: "oops", details: [{ type: "foo.Bar", value: "CDI" }] },
      "not-found",
      "oops",
    ],
    [
      "a broken detail",
      { code: "not_found", message: "oops", details: [{ type, value: "////" }, null, 3] },
      "not-found",
      "oops",
    ],
    [
      "a broken debug",
      { code: "not_found", message: "oops", details: [{ type, debug: 1, value: "CDI" }] },
      "rate-limited",
      "oops",
    ],
    ["control characters", { code: "internal", message: "a\u001b[31m\nb" }, "upstream-failed", "a [31m b"],
  ])("%s", (_, error, kind, message) => {
    expect(errorOf({ error })).toMatchObject({ kind, message });
  });

  test("a long message is cut", () => {
    expect(errorOf({ error: { message: "x".repeat(100_000) } }).message.length).toBeLessThan(1100);
  });

  test("FUZ-02: any JSON and any bytes end in a result", () => {
    fc.assert(fc.property(fc.json(), (json) => void end(json)));
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void parseEndOfStream(bytes)));
    fc.assert(fc.property(fc.jsonValue(), (value) => void end({ error: value, metadata: value })));
    fc.assert(fc.property(fc.jsonValue(), (value) => void end({ error: { details: [{ type, debug: value }] } })));
  });
});

describe("errors that say who they are", () => {
  test.each(Object.entries(CONNECT_CODES))("Connect code %s", (code, meaning) => {
    const error = errorOf({ error: { code, message: "oops" } });
    expect(error).toMatchObject({ kind: kindOf(meaning.error), message: "oops", context: { connectCode: code } });
  });

  test("every error of the schema has a meaning, by name and by number", () => {
    for (const [name, number] of Object.entries(ErrorDetails_Error)) {
      const meaning = CURSOR_ERRORS[name as CursorErrorName];
      const kind = meaning === "byCode" ? "upstream-unavailable" : kindOf(meaning.error);
      const byName = errorOf(withDetails("unavailable", { type, debug: { error: `ERROR_${name}` } }));
      const byNumber = errorOf(withDetails("unavailable", { type, value: detail(number) }));
      expect([byName.kind, byName.context["cursorError"]]).toEqual([kind, name]);
      expect([byNumber.kind, byNumber.context["cursorError"]]).toEqual([kind, name]);
      expect(byNumber.code).toBe(byName.code);
    }
  });

  test("an error newer than our schema falls back to the code", () => {
    expect(errorOf(withDetails("permission_denied", { type, value: detail(4711, { title: "New" }) }))).toMatchObject({
      kind: "forbidden",
      message: "New",
    });
  });

  test("a bare permission_denied may be an outdated client; one with details is what they say", () => {
    const bare = errorOf({ error: { code: "permission_denied", message: "Error" } });
    expect(bare).toMatchObject({ kind: "forbidden", hint: expect.stringContaining("clientVersion") });
    const custom = errorOf(withDetails("permission_denied", { type, value: detail(29, { title: "Not your team" }) }));
    expect(custom).toMatchObject({ kind: "forbidden", hint: expect.not.stringContaining("clientVersion") });
  });

  test("the observed sample: unauthorized", () => {
    const value = "CCYSLwoVVW5hdXRob3JpemVkIHJlcXVlc3QuEhRVc2VyIGlzIHVuYXV0aG9yaXplZCAAGAE";
    expect(errorOf(withDetails("unauthenticated", { type, value }))).toMatchObject({
      kind: "unauthenticated",
      retryable: false,
      message: "Unauthorized request. User is unauthorized",
      context: { connectCode: "unauthenticated", cursorError: "UNAUTHORIZED" },
    });
  });

  test("debug is preferred to value", () => {
    const debug = { error: "ERROR_DEPRECATED", details: { title: "Gone", detail: "Use the new one" } };
    expect(errorOf(withDetails("unknown", { type, debug, value: "CDI" }))).toMatchObject({
      kind: "deprecated",
      message: "Gone: Use the new one",
    });
  });

  test.each<[CursorErrorName, string, string, boolean]>([
    ["DEBOUNCED", "canceled", "debounced", false],
    ["AUTH_TOKEN_EXPIRED", "unauthenticated", "token_expired", false],
    ["PRO_USER_ONLY", "forbidden", "plan_required", false],
    ["MAX_MODE_REQUIRED", "invalid-request", "max_mode_required", false],
    ["CONVERSATION_TOO_LONG", "context-overflow", "context_overflow", false],
    ["RESOURCE_EXHAUSTED", "rate-limited", "capacity", true],
    ["RATE_LIMITED", "rate-limited", "rate_limited", true],
    ["FREE_USER_USAGE_LIMIT", "quota-exhausted", "quota_exhausted", false],
    ["USAGE_PRICING_REQUIRED", "payment-required", "payment_required", false],
    ["PROVIDER_ERROR", "upstream-failed", "upstream_failed", true],
    ["GPT_4_VISION_PREVIEW_RATE_LIMIT", "rate-limited", "rate_limited", false],
  ])("%s is %s, %s", (name, kind, code, retryable) => {
    const error = errorOf(withDetails("internal", { type, value: detail(ErrorDetails_Error[name]) }));
    expect(error).toMatchObject({ kind, code, retryable });
  });

  test("a custom error is as retryable as it says", () => {
    const custom = (isRetryable: boolean) =>
      errorOf(withDetails("unavailable", { type, value: detail(52, { title: "T", isRetryable }) }));
    expect([custom(true).retryable, custom(false).retryable]).toEqual([true, false]);
  });

  test("an old client in the disguise of a rate limit", () => {
    const value = detail(28, { title: "Update Required", detail: "Please update" });
    expect(errorOf(withDetails("resource_exhausted", { type, value }))).toMatchObject({
      kind: "outdated-client",
      code: "outdated_client",
      retryable: false,
      message: "Update Required: Please update",
    });
  });

  test("REL-23: retry-after in the metadata", () => {
    const metadata = { "Retry-After": ["7"] };
    expect(errorOf({ error: { code: "resource_exhausted" }, metadata })).toMatchObject({
      kind: "rate-limited",
      retryable: true,
      retryAfterMs: 7000,
    });
  });

  test.each([
    ["CONTENT_POLICY", "invalid-request", "content_policy"],
    ["IMAGE_TOO_LARGE", "invalid-request", "image_too_large"],
    ["MAX_TOKENS", "context-overflow", "context_overflow"],
    ["OUTDATED_CLIENT", "outdated-client", "outdated_client"],
  ])("the error type %s in the metadata forbids a retry", (errorType, kind, code) => {
    const metadata = { "x-cursor-inference-request-error-type": [errorType] };
    expect(errorOf({ error: { code: "unavailable" }, metadata })).toMatchObject({ kind, code, retryable: false });
  });

  test("an error type that means nothing to us changes nothing", () => {
    const metadata = { "x-cursor-inference-request-error-type": ["toString"] };
    expect(errorOf({ error: { code: "unavailable" }, metadata })).toMatchObject({
      kind: "upstream-unavailable",
      retryable: true,
    });
  });
});

describe("parseRetryAfter", () => {
  const now = Date.parse("Sun, 15 Nov 2026 09:00:00 GMT");
  test.each<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ["", undefined],
    ["0", 0],
    ["1.5", 1500],
    [" 30 ", 30_000],
    ["-1", undefined],
    ["99999999", 86_400_000],
    ["1e9", undefined],
    ["soon", undefined],
    ["2026-11-15", undefined],
    ["Sun, 15 Nov 2026 09:00:10 GMT", 10_000],
    ["Sun, 15 Nov 2026 08:00:00 GMT", 0],
  ])("%j is %j", (value, expected) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });
});
