import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Secret } from "../../core/secret.ts";
import { digestOf } from "./keys/digest.ts";

/** Headers of a request that was forwarded. */
const PASSED_ON = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "cf-connecting-ip"];
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/**
 * Returns a check for requests through a tunnel. Their path must begin with the secret, which is then removed. Without
 * a secret every request passes.
 */
export function createPathGuard(secret: Secret | undefined): (request: IncomingMessage) => boolean {
  if (!secret) return () => true;
  const right = digestOf(secret.reveal());
  return (request) => {
    const { url = "/", headers } = request;
    const end = url.indexOf("/", 1);
    if (end !== -1 && timingSafeEqual(digestOf(url.slice(1, end)), right)) {
      request.url = url.slice(end);
      return true;
    }
    return LOOPBACK.test(headers.host ?? "") && !PASSED_ON.some((name) => headers[name] !== undefined);
  };
}
