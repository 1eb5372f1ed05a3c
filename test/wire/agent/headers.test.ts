import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { type Caller, type CallKind, callHeaders } from "../../../src/wire/agent/headers.ts";

const caller: Caller = { token: "t0ken", requestId: "r1", originalRequestId: "r0", acceptGzip: true };

const everyCall = {
  authorization: "Bearer t0ken",
  "connect-protocol-version": "1",
  "x-cursor-client-version": "cli-2026.07.23-e383d2b",
  "x-cursor-client-type": "cli",
  "x-ghost-mode": "true",
  "x-request-id": "r1",
};
const stream = {
  "content-type": "application/connect+proto",
  "connect-accept-encoding": "gzip",
  "x-original-request-id": "r0",
};

describe("callHeaders", () => {
  test.each<[CallKind, Record<string, string>]>([
    ["run", stream],
    ["run-sse", { ...stream, "x-cursor-streaming": "true" }],
    ["append", { "content-type": "application/proto", "accept-encoding": "gzip", "x-cursor-streaming": "true" }],
    ["unary-proto", { "content-type": "application/proto", "accept-encoding": "gzip" }],
    ["unary-json", { "content-type": "application/json", "accept-encoding": "gzip" }],
  ])("%s", (kind, own) => {
    expect(callHeaders(kind, caller)).toEqual({ ...everyCall, ...own });
  });

  test("what is not given is not sent, and nothing is compressed unasked", () => {
    expect(Object.keys(callHeaders("run", { token: "t" }))).toEqual([
      "authorization",
      "content-type",
      "connect-protocol-version",
      "x-cursor-client-version",
      "x-cursor-client-type",
      "x-ghost-mode",
    ]);
  });

  test("everything can be set", () => {
    const headers = callHeaders("run", {
      token: "t",
      clientVersion: "sdk-1.0.32",
      clientType: "sdk",
      ghostMode: false,
      timezone: "Europe/Berlin",
      checksum: "Vfb45Bi9abc",
    });
    expect(headers).toMatchObject({
      "x-cursor-client-version": "sdk-1.0.32",
      "x-cursor-client-type": "sdk",
      "x-ghost-mode": "false",
      "x-cursor-timezone": "Europe/Berlin",
      "x-cursor-checksum": "Vfb45Bi9abc",
    });
  });

  test.each(["secret\r\nx-evil: 1", "secret\n", "sécret", "", "secret\u0000"])(
    "SEC-14: a token that no header can carry is refused without being repeated: %j",
    (token) => {
      const attempt = () => callHeaders("run", { token });
      if (token === "") {
        expect(attempt()).toMatchObject({ authorization: "Bearer " });
        return;
      }
      try {
        attempt();
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(ExcursorError);
        expect(error).toMatchObject({ kind: "config", code: "invalid_header" });
        expect(inspect(error, { depth: 9 })).not.toMatch(/s[eé]cret/);
      }
    },
  );
});
