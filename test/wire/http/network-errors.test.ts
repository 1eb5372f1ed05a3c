import { expect, test } from "vitest";
import {
  fromNodeError,
  fromReset,
  halfOpen,
  http2Unavailable,
  transportClosed,
} from "../../../src/wire/http/network-errors.ts";
import { expectAdvice } from "../support/listener.ts";

const ORIGIN = "https://backend.example:8443";
const HTTP2_CODES = 14;

test.each<[nodeCode: string, code: string, retryable: boolean]>([
  ["ENOTFOUND", "dns_failure", true],
  ["EAI_AGAIN", "dns_failure", true],
  ["ECONNREFUSED", "connection_refused", true],
  ["EHOSTUNREACH", "unreachable", true],
  ["ECONNRESET", "connection_reset", true],
  ["EPIPE", "connection_reset", true],
  ["ETIMEDOUT", "connect_timeout", true],
  ["CERT_HAS_EXPIRED", "tls_expired", false],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls_wrong_name", false],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls_untrusted", false],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls_failure", false],
  ["HPE_HEADER_OVERFLOW", "headers_too_large", false],
  ["HPE_INVALID_CONSTANT", "http_invalid", false],
  ["ERR_HTTP2_ERROR", "http_invalid", false],
  ["ESOMETHINGELSE", "connection_failed", true],
])("REL-24: %s is %s, with advice", (nodeCode, code, retryable) => {
  const error = fromNodeError(Object.assign(new Error("secret /path"), { code: nodeCode }), ORIGIN);
  expect(error).toMatchObject({ code, retryable, context: { host: "backend.example:8443", nodeCode } });
  expect(error.message).toMatch(/^backend\.example:8443 [^/]+\.$/);
  expectAdvice(error);
});

test("whatever cuts a stream or a connection, there is advice", () => {
  for (let code = 0; code <= HTTP2_CODES; code++) expectAdvice(fromReset(code));
  for (const error of [halfOpen(ORIGIN), http2Unavailable(ORIGIN), transportClosed()]) expectAdvice(error);
});
