import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import { InteractionQuerySchema } from "../../gen/agent/v1/query_pb.ts";

/** Parsers of numbers and JSON in steps. They throw an Error that says what is wrong. */

export type Range = readonly [min: number, max: number];

export const MILLISECONDS: Range = [0, 2 ** 31 - 1];
export const COUNT: Range = [0, Number.MAX_SAFE_INTEGER];
const MEMBERS: Range = [1, 2 ** 29 - 1];

export function wholeNumber(word: string, [min, max]: Range): number {
  const number = word === "" ? Number.NaN : Number(word);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`"${word}" is not a whole number from ${min} to ${max}`);
}

/** Parses numbers separated by blanks, one for each range. Those after the first `atLeast` are optional. */
export function wholeNumbers(text: string, atLeast: number, ranges: readonly Range[]): number[] {
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.length < atLeast || words.length > ranges.length) {
    const wanted = atLeast === ranges.length ? atLeast : `${atLeast} to ${ranges.length}`;
    throw new Error(`"${text}" is not ${wanted} whole number${ranges.length === 1 ? "" : "s"}`);
  }
  return words.map((word, index) => wholeNumber(word, ranges[index] ?? COUNT));
}

/** Parses `#N`, the number of a member that may exist in no schema. Returns undefined for anything else. */
export function memberNumber(text: string): number | undefined {
  const word = text.trim();
  return word.startsWith("#") ? wholeNumber(word.slice(1), MEMBERS) : undefined;
}

/**
 * Parses a step's JSON object. Some clients escape a quoted prompt; if necessary the escapes are undone, first of
 * quotes, then of everything.
 */
export function parseObject(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = parseJson(text) ?? (text.includes("\\") ? parseEscapedJson(text) : undefined);
  if (!isJsonObject(value)) {
    throw new Error(`"${text.slice(0, 80)}" is not a JSON object`);
  }
  return value;
}

function parseEscapedJson(text: string): JsonValue | undefined {
  const value = parseJson(text.replaceAll('\\"', '"'));
  if (value !== undefined) return value;
  const unescaped = parseJson(`"${text}"`);
  return typeof unescaped === "string" ? parseJson(unescaped) : undefined;
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

export function parseQuery(text: string): JsonObject {
  const json = parseObject(text);
  const { query } = fromJson(InteractionQuerySchema, json, { ignoreUnknownFields: true });
  if (query.case === undefined) throw new Error("ask needs a query as agent.v1.InteractionQuery knows it, or #N");
  return json;
}
