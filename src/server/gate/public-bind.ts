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
    throw new ExcursorError("config", "host: expected an address, found a name.", {
      code: "host_not_address",
      hint: "Use 127.0.0.1 or ::1.",
    });
  }
  const text = key.reveal();
  if (text.length >= MIN_LENGTH && new Set(text).size >= MIN_DIFFERENT && !PLACEHOLDER.test(text)) return;
  throw new ExcursorError("config", `The key is too weak to listen on ${host}, where others can reach it.`, {
    code: "weak_key",
    hint: "Remove the setting `key` to get a random key, or listen on 127.0.0.1.",
  });
}

const PLACEHOLDER = /change.?me|placeholder|example|password|your[-_ ]?(?:api|key|secret)|sk-test|xxxx|1234567890/i;
