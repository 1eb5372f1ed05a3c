import type { JsonObject, JsonValue } from "../turn.ts";
import { nestsDeeper } from "./nests-deeper.ts";

/** The same limit as for request bodies. */
const MAX_LEVELS = 128;

/**
 * Parses the arguments of a tool call. Models sometimes write invalid ones, and clients send them back with every request, so
 * refusing them would end the conversation. Arguments that are not an object, or are nested too deep, are kept as text, so
 * that the model sees what it wrote.
 */
export function readArguments(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const value = JSON.parse(text) as JsonValue;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && !nestsDeeper(value, MAX_LEVELS)) return value as JsonObject;
  } catch {
    // Not JSON: kept as text.
  }
  return { invalid_arguments: text };
}
