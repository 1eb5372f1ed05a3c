import { stripVTControlCharacters } from "node:util";

/** Control characters that a terminal obeys, and those that reverse text (SEC-53). */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Removes terminal control characters from foreign text, except line breaks and tabs. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text).replace(CONTROLS, (character) =>
    character === "\n" || character === "\t" ? character : "",
  );

/** Escapes in JSON the control characters that JSON may have. */
export const printableJson = (json: string): string =>
  json.replace(CONTROLS, (character) =>
    character === "\n" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Returns a value as JSON that a terminal only shows. */
export const jsonText = (value: unknown, space?: number): string => printableJson(JSON.stringify(value, null, space));
