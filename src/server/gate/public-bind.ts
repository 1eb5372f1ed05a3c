import { isIPv4 } from "node:net";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";

export const isLoopback = (host: string): boolean => (isIPv4(host) && host.startsWith("127.")) || host === "::1";

const MIN_LENGTH = 32;
const MIN_DIFFERENT = 10;

/** Throws if the listener is not on loopback and the key could be guessed (SEC-04). */
export function checkBind(host: string, key: Secret): void {
  if (isLoopback(host)) return;
  if (host === "localhost") {
    throw new ExcursorError("host_not_address");
  }
  const text = key.reveal();
  if (text.length >= MIN_LENGTH && new Set(text).size >= MIN_DIFFERENT && !PLACEHOLDER.test(text)) return;
  throw new ExcursorError("weak_key", [host]);
}

const PLACEHOLDER = /change.?me|placeholder|example|password|your[-_ ]?(?:api|key|secret)|sk-test|xxxx|1234567890/i;
