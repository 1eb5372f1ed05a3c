import { isJsonObject } from "../../../core/json/is-json-object.ts";
import type { JsonObject } from "../../../core/turn.ts";

/** Tells signatures of this upstream from those of others. */
const PREFIX = "openai-reasoning:";

const MAX_LENGTH = 4 * 1024 * 1024;

/**
 * Returns a reasoning item as the signature of its thinking. The upstream wants the whole item back, unchanged.
 * Undefined if there is nothing encrypted in it: then it would mean nothing to the upstream.
 */
export function signatureOf(item: JsonObject): string | undefined {
  if (typeof item["encrypted_content"] !== "string" || item["encrypted_content"] === "") return undefined;
  const signature = PREFIX + JSON.stringify(item);
  return signature.length > MAX_LENGTH ? undefined : signature;
}

/** Returns the item of a signature, or undefined if the signature is another upstream's. */
export function itemOf(signature: string | undefined): JsonObject | undefined {
  if (!signature?.startsWith(PREFIX)) return undefined;
  try {
    const item: unknown = JSON.parse(signature.slice(PREFIX.length));
    return isJsonObject(item) && item["type"] === "reasoning" ? item : undefined;
  } catch {
    return undefined;
  }
}
