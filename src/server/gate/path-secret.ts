import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Secret } from "../../core/secret.ts";
import { digestOf } from "./digest.ts";

/** Headers that say that somebody else has passed the request on. */
const PASSED_ON = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "cf-connecting-ip"];
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/**
 * Whether a request may come in. Whatever comes through a tunnel must have the secret as the first part of its path,
 * which is taken off; for everybody else there is nothing here. Without a secret everything may.
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
