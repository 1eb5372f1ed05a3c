import type { JsonObject } from "../turn.ts";
import { isJsonObject } from "./is-json-object.ts";
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
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value) && !nestsDeeper(value, MAX_LEVELS)) return value;
  } catch {
    // Not JSON: kept as text.
  }
  return { invalid_arguments: text };
}
