import type { JsonObject, JsonValue } from "./turn.ts";

/**
 * Models write broken arguments at times, and clients send them back for ever after: to refuse them would end the
 * conversation. What is not an object is kept as text, so that the model still sees what it wrote.
 */
export function readArguments(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const value = JSON.parse(text) as JsonValue;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // Kept as text, below.
  }
  return { invalid_arguments: text };
}
