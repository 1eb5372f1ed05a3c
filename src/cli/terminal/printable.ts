import { stripVTControlCharacters } from "node:util";

/** Removes terminal control characters from foreign text, except line breaks and tabs. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\n" || character === "\t" ? character : "",
  );
