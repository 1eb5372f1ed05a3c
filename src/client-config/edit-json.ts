import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { isJsonObject } from "../core/json/is-json-object.ts";
import type { JsonValue } from "../core/turn.ts";
import { unreadable } from "./unreadable.ts";

export type JsonChange = readonly [path: readonly string[], value: JsonValue];

/** Sets values in JSON with comments and trailing commas. Keeps comments and order. */
export function editJson(text: string, changes: readonly JsonChange[]): string {
  const isEmpty = text.trim() === "";
  const whole = isEmpty ? "{}\n" : text;
  checkObject(whole);
  const formattingOptions = { insertSpaces: true, tabSize: indentOf(whole) };
  return changes.reduce(
    (edited, [path, value]) => applyEdits(edited, modify(edited, [...path], value, { formattingOptions })),
    whole,
  );
}

function checkObject(text: string): void {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw unreadable(`${printParseErrorCode(first.error)} at position ${first.offset}`);
  if (!isJsonObject(value)) throw unreadable("it is not a JSON object");
}

const indentOf = (text: string): number => /^( +)"/m.exec(text)?.[1]?.length ?? 2;
