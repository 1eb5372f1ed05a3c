import type { JsonObject, JsonValue } from "../turn.ts";
import { nestsDeeper } from "./nests-deeper.ts";

/** As deep as a request body may be. */
const MAX_LEVELS = 128;

/**
 * Models write broken arguments at times, and clients send them back for ever after: to refuse them would end the
 * conversation. What is not an object, or nested too deep, is kept as text, so that the model still sees what it wrote.
 */
export function readArguments(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const value = JSON.parse(text) as JsonValue;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && !nestsDeeper(value, MAX_LEVELS)) return value as JsonObject;
  } catch {
    // Kept as text, below.
  }
  return { invalid_arguments: text };
}
