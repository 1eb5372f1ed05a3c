import { describe, expect, test } from "vitest";
import { fromFailedResponse, wrongContentType } from "../../../src/wire/http/http-errors.ts";
import { expectAdvice } from "../support/listener.ts";

const failed = (status: number, body = "", headers: Record<string, string> = {}) =>
  fromFailedResponse({ status, headers }, Buffer.from(body));

describe("fromFailedResponse", () => {
  test.each<[status: number, kind: string, code: string]>([
    [301, "upstream-protocol", "redirected"],
    [307, "upstream-protocol", "redirected"],
    [400, "invalid-request", "invalid_request"],
    [401, "unauthenticated", "unauthenticated"],
    [403, "forbidden", "forbidden"],
    [404, "not-found", "not_found"],
    [408, "timeout", "timeout"],
    [409, "invalid-request", "invalid_request"],
    [413, "too-large", "too_large"],
    [415, "upstream-protocol", "media_type_refused"],
    [418, "upstream-protocol", "unexpected_status"],
    [426, "outdated-client", "outdated_client"],
    [429, "rate-limited", "rate_limited"],
    [464, "upstream-protocol", "http2_required"],
    [500, "upstream-failed", "upstream_failed"],
    [502, "upstream-failed", "upstream_failed"],
    [503, "upstream-unavailable", "upstream_unavailable"],
    [504, "timeout", "timeout"],
    [599, "upstream-failed", "upstream_failed"],
    [204, "upstream-protocol", "unexpected_status"],
  ])("REL-23: status %i alone is %s", (status, kind, code) => {
    expect(failed(status)).toMatchObject({ kind, code, context: { status } });
    expect(failed(status).message).toContain(String(status));
    expectAdvice(failed(status));
  });

  test.each([
    [401, /excursor login/],
    [404, /upstream address/],
    [415, /Update Excursor/],
    [464, /HTTP\/2/],
  ])("%i says what to do about this very error", (status, hint) => {
    expect(failed(status)).toMatchObject({ hasOwnHint: true, hint: expect.stringMatching(hint) });
  });

  test.each(["null", "{ not json", "[]", "\u0000\u0001", "Bad Gateway"])("a body that is no error: %j", (body) => {
    expect(failed(401, body)).toMatchObject({ kind: "unauthenticated" });
  });

  test.each<[body: string, status: number, kind: string]>([
    ['{"code":null,"message":"oops"}', 401, "unauthenticated"],
    ['{"message":"oops"}', 401, "unauthenticated"],
    ['{"code":"foobar","message":"oops"}', 429, "rate-limited"],
    ['{"code":"out_of_range","message":"oops","foobar":"baz"}', 422, "invalid-request"],
    ['{"code":"unavailable","message":"oops"}', 400, "upstream-unavailable"],
  ])("REL-19: a Connect error in the body decides where it has a code: %s", (body, status, kind) => {
    expect(failed(status, body, { "content-type": "application/json" })).toMatchObject({ kind, message: "oops" });
  });

  test("details of the backend's decide above all", () => {
    const body = JSON.stringify({
      code: "unauthenticated",
      details: [{ type: "aiserver.v1.ErrorDetails", value: "CCg" }],
    });
    expect(failed(401, body)).toMatchObject({
      kind: "deprecated",
      context: { cursorError: "DEPRECATED", status: 401 },
    });
  });

  test("HTTP 400 that asks for an update", () => {
    expect(failed(400, '{"code":"invalid_argument","message":"Update required"}').kind).toBe("outdated-client");
  });

  test("REL-23: a web page is named, not quoted", () => {
    const error = failed(502, "<html><h1>Bad Gateway</h1>", { "content-type": "text/html; charset=utf-8" });
    expect(error.message).toBe("The backend answered with HTTP status 502 and a web page.");
  });

  test("REL-23: retry-after, as seconds and as a date", () => {
    expect(failed(429, "", { "retry-after": "12" }).retryAfterMs).toBe(12_000);
    expect(failed(503, "", { "retry-after": "Sun, 15 Nov 2020 09:00:00 GMT" }).retryAfterMs).toBe(0);
    expect(failed(429).retryAfterMs).toBeUndefined();
  });
});

test("wrongContentType names what came instead", () => {
  expect(wrongContentType({ status: 200, headers: { "content-type": "text/html; x" } })).toMatchObject({
    kind: "upstream-protocol",
    code: "unexpected_content_type",
    context: { contentType: "text/html" },
  });
  expect(wrongContentType({ status: 200, headers: {} }).message).toMatch(/nothing/);
});
