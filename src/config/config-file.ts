import { ExcursorError } from "../core/errors.ts";
import { isJsonObject } from "../core/json/is-json-object.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { whyNoEffect } from "./limits.ts";
import type { PlacedSetting } from "./settings.ts";
import { suggest } from "./suggest.ts";

/** The values of the file (or of an object like it) by key, and problems that do not belong to one setting. */
export interface ConfigFile {
  readonly values: ReadonlyMap<string, unknown>;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  place(key: string): string;
}

/** Far more than any real configuration needs. */
const MAX_BYTES = 1024 * 1024;

/** Reads the file. A missing file has no values. */
export function readConfigFile(path: string, settings: readonly PlacedSetting[]): ConfigFile {
  const text = readSmallFile(path, MAX_BYTES, "config_unreadable");
  const tree = text === undefined ? {} : parse(text, path);
  const repeated = repeatedNames(text ?? "").map(({ name, line }) => `${path}:${line}: ${name} appears twice.`);
  const place = (key: string) => `${path}${lineOf(text ?? "", key)}`;
  const read = readTree(tree, settings, place);
  return { ...read, problems: [...repeated, ...read.problems] };
}

/** Reads settings from an object that is built like the file. */
export function readTree(tree: object, settings: readonly PlacedSetting[], place: (key: string) => string): ConfigFile {
  const keys = new Set(settings.map(({ key }) => key));
  const groups = new Set(settings.flatMap(({ key }) => (key.includes(".") ? [key.slice(0, key.indexOf("."))] : [])));
  const values = new Map<string, unknown>();
  const problems: string[] = [];
  const warnings: string[] = [];
  const visit = (object: object, prefix: string) => {
    for (const [name, value] of Object.entries(object)) {
      if (value === undefined) continue;
      const key = prefix + name;
      if (keys.has(key)) values.set(key, value);
      else if (whyNoEffect(key) !== undefined) warnings.push(`${place(key)}: ${unknownKey(key, [])}`);
      else if (!groups.has(key)) problems.push(`${place(key)}: ${unknownKey(key, [...keys, ...groups])}`);
      else if (isJsonObject(value)) visit(value, `${key}.`);
      else problems.push(`${place(key)}: ${key}: expected an object, found ${JSON.stringify(value)}.`);
    }
  };
  visit(tree, "");
  return { values, problems, warnings, place };
}

export function unknownKey(given: string, known: readonly string[]): string {
  const why = whyNoEffect(given);
  if (why !== undefined) return `${given} has no effect: ${why}`;
  const meant = suggest(given, known);
  return `there is no setting "${given}"${meant === undefined ? "" : `; did you mean "${meant}"?`}`;
}

function parse(text: string, path: string): object {
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch {
    // The parser's own message would quote the text, which may hold a key.
    throw new ExcursorError("bad_config", `${path}:${firstBadLine(text)}: not valid JSON.`, {
      hint: "Look for a missing or extra comma or quote there. Comments are not allowed.",
    });
  }
  if (isJsonObject(tree)) return tree;
  throw new ExcursorError("bad_config", `${path}: expected an object with settings.`);
}

/**
 * Returns the line of the first syntax error. The parser does not always report it, so beginnings of the text are
 * parsed: a valid beginning is only incomplete.
 */
function firstBadLine(text: string): number {
  const lines = text.split("\n");
  const isBad = (_: string, index: number) => {
    const beginning = lines.slice(0, index + 1).join("\n");
    try {
      JSON.parse(beginning);
      return false;
    } catch (error) {
      const { message } = error as Error;
      const position = Number(/at position (\d+)/.exec(message)?.[1]);
      return !/end of JSON|Unterminated/.test(message) && position !== beginning.length;
    }
  };
  return lines.findIndex(isBad) + 1 || lines.length;
}

/** Returns names that an object has twice. The parser would silently take the last one. */
function repeatedNames(text: string): { readonly name: string; readonly line: number }[] {
  const repeated: { readonly name: string; readonly line: number }[] = [];
  const seen: Set<string>[] = [];
  let last = "";
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (token === "{") seen.push(new Set());
    else if (token === "}") seen.pop();
    else if (token !== ":") last = token;
    else if (seen.at(-1)?.has(last)) repeated.push({ name: last, line: text.slice(0, index).split("\n").length });
    else seen.at(-1)?.add(last);
  }
  return repeated;
}

/** Returns the line of a key. Searches its names one after the other, which is exact for ordinary files. */
function lineOf(text: string, key: string): string {
  let position = 0;
  for (const name of key.split(".")) {
    const found = text.indexOf(JSON.stringify(name), position);
    if (found === -1) return "";
    position = found;
  }
  return `:${text.slice(0, position).split("\n").length}`;
}
