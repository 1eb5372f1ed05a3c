import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { isJsonObject } from "../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../core/turn.ts";
import type { ValueChange } from "./undo-edit.ts";
import { unreadable } from "./unreadable.ts";

export type JsonChange = readonly [path: readonly string[], value: JsonValue];

/** Sets values in JSON with comments and trailing commas. Keeps comments and order. */
export function editJson(text: string, changes: readonly JsonChange[]): string {
  const isEmpty = text.trim() === "";
  const whole = isEmpty ? "{}\n" : text;
  checkObject(whole);
  return changeJson(whole, changes);
}

/** Sets the entry of a list that `isOurs` recognises, or adds one. Keeps comments and order. */
export function editJsonList(text: string, isOurs: (entry: JsonObject) => boolean, entry: JsonObject): string {
  const whole = text.trim() === "" ? "[]\n" : text;
  const list = read(whole);
  if (!Array.isArray(list)) throw unreadable("it is not a JSON list");
  const at = list.findIndex((one) => isJsonObject(one) && isOurs(one));
  const formattingOptions = { insertSpaces: true, tabSize: indentOf(whole) };
  return applyEdits(whole, modify(whole, [at === -1 ? list.length : at], entry, { formattingOptions }));
}

/** Returns the value of JSON with comments; undefined if there is none. */
export const readJson = (text: string): JsonValue | undefined =>
  text.trim() === "" ? undefined : (read(text) as JsonValue);

/** Sets and removes values. Keeps comments and order. */
export function changeJson(text: string, changes: readonly ValueChange[]): string {
  const formattingOptions = { insertSpaces: true, tabSize: indentOf(text) };
  return changes.reduce(
    (edited, [path, value]) => applyEdits(edited, modify(edited, [...path], value, { formattingOptions })),
    text,
  );
}

function checkObject(text: string): void {
  if (!isJsonObject(read(text))) throw unreadable("it is not a JSON object");
}

function read(text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw unreadable(`${printParseErrorCode(first.error)} at position ${first.offset}`);
  return value;
}

const indentOf = (text: string): number => /^( +)"/m.exec(text)?.[1]?.length ?? 2;
