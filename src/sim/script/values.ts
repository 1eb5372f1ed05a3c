import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { InteractionQuerySchema } from "../../gen/agent/v1/query_pb.ts";

/** What steps say besides words: numbers and JSON. All of these throw an Error that says what is wrong. */

export type Range = readonly [min: number, max: number];

/** What a timer can wait. */
export const MILLISECONDS: Range = [0, 2 ** 31 - 1];
export const COUNT: Range = [0, Number.MAX_SAFE_INTEGER];
const MEMBERS: Range = [1, 2 ** 29 - 1];

export function wholeNumber(word: string, [min, max]: Range): number {
  const number = word === "" ? Number.NaN : Number(word);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`"${word}" is not a whole number from ${min} to ${max}`);
}

/** Numbers apart by blanks, one for each range; those after the first `atLeast` may be missing. */
export function wholeNumbers(text: string, atLeast: number, ranges: readonly Range[]): number[] {
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.length < atLeast || words.length > ranges.length) {
    const wanted = atLeast === ranges.length ? atLeast : `${atLeast} to ${ranges.length}`;
    throw new Error(`"${text}" is not ${wanted} whole number${ranges.length === 1 ? "" : "s"}`);
  }
  return words.map((word, index) => wholeNumber(word, ranges[index] ?? COUNT));
}

/** The number of `#N`: a member that may exist in no schema, but on the wire. Undefined if it is something else. */
export function memberNumber(text: string): number | undefined {
  const word = text.trim();
  return word.startsWith("#") ? wholeNumber(word.slice(1), MEMBERS) : undefined;
}

/**
 * A step's JSON object. Clients that put a prompt in quotes escape what is in it, so that is undone if it must be: of
 * its quotes, or of all of it.
 */
export function parseObject(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = parseJson(text) ?? (text.includes("\\") ? parseEscapedJson(text) : undefined);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
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

/** The JSON of an `InteractionQuery`. */
export function parseQuery(text: string): JsonObject {
  const json = parseObject(text);
  const { query } = fromJson(InteractionQuerySchema, json, { ignoreUnknownFields: true });
  if (query.case === undefined) throw new Error("ask needs a query as agent.v1.InteractionQuery knows it, or #N");
  return json;
}
