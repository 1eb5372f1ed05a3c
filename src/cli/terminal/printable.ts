import { stripVTControlCharacters } from "node:util";

/** Text from elsewhere with nothing in it that a terminal would obey; line breaks and tabs stay. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\n" || character === "\t" ? character : "",
  );
