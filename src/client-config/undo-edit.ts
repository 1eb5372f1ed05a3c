import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../core/turn.ts";
import { changeJson, readJson } from "./edit-json.ts";
import { changeYaml, readYaml } from "./edit-yaml.ts";
import { undoLines } from "./undo-lines.ts";

/** The content of a configuration at three times. */
export interface Edited {
  readonly before: string;
  /** With our edit. */
  readonly after: string;
  /** With what the user and the client have changed since. */
  readonly now: string;
}

/** A value to set; undefined removes the entry. A position at the end of a list appends. */
export type ValueChange = readonly [path: readonly (string | number)[], value: JsonValue | undefined];

/** Takes our edit out of a file, and leaves every other change in it. Throws if the file cannot be read. */
export function undoEdit(file: string, edited: Edited): string {
  if (/\.jsonc?$/.test(file)) return undoTree(edited, readJson, changeJson);
  if (/\.ya?ml$/.test(file)) return undoTree(edited, readYaml, changeYaml);
  return undoLines(edited);
}

function undoTree(
  { before, after, now }: Edited,
  read: (text: string) => JsonValue | undefined,
  change: (text: string, changes: readonly ValueChange[]) => string,
): string {
  const current = read(now);
  const wanted = undoValue(read(before), read(after), current);
  return wanted === undefined ? "" : change(now, changesBetween(current, wanted, []));
}

type Maybe = JsonValue | undefined;

/** Returns what is left of a value without our edit. A value that was changed since stays, an object that we made goes once it is empty. */
function undoValue(before: Maybe, after: Maybe, now: Maybe): Maybe {
  if (isDeepStrictEqual(now, after)) return before;
  if (isJsonObject(after) && isJsonObject(now)) {
    const old: JsonObject = isJsonObject(before) ? before : {};
    const entries = [...new Set([...Object.keys(now), ...Object.keys(old)])].flatMap((name) => {
      const isOurs = Object.hasOwn(after, name) || Object.hasOwn(old, name);
      const value = isOurs ? undoValue(own(old, name), own(after, name), own(now, name)) : own(now, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return entries.length === 0 && before === undefined ? undefined : Object.fromEntries(entries);
  }
  if (Array.isArray(after) && Array.isArray(now)) {
    const old: readonly JsonValue[] = Array.isArray(before) ? before : [];
    const ours = without(after, old);
    const left = now.filter((entry) => !ours.some((one) => isSameEntry(one, entry)));
    const list = [...left, ...without(without(old, after), left)];
    return list.length === 0 && before === undefined ? undefined : list;
  }
  return now;
}

const own = (object: JsonObject, name: string): Maybe => (Object.hasOwn(object, name) ? object[name] : undefined);

const without = (list: readonly JsonValue[], others: readonly JsonValue[]): readonly JsonValue[] =>
  list.filter((entry) => !others.some((other) => isDeepStrictEqual(other, entry)));

/** A client may add fields to an entry of ours; its name stays. */
const isSameEntry = (ours: JsonValue, entry: JsonValue): boolean =>
  isDeepStrictEqual(ours, entry) ||
  (isJsonObject(ours) && isJsonObject(entry) && ours["name"] !== undefined && ours["name"] === entry["name"]);

/** The last entries of a list come first, so that the positions of the others stay. */
function changesBetween(now: Maybe, wanted: Maybe, path: readonly (string | number)[]): readonly ValueChange[] {
  if (isDeepStrictEqual(now, wanted)) return [];
  if (isJsonObject(now) && isJsonObject(wanted)) {
    return [...new Set([...Object.keys(now), ...Object.keys(wanted)])].flatMap((name) =>
      changesBetween(own(now, name), own(wanted, name), [...path, name]),
    );
  }
  if (Array.isArray(now) && Array.isArray(wanted)) {
    const isKept = now.map((entry) => wanted.some((one) => isDeepStrictEqual(one, entry)));
    const kept = isKept.filter(Boolean).length;
    const removed = isKept.flatMap((isIn, index): ValueChange[] => (isIn ? [] : [[[...path, index], undefined]]));
    const added = without(wanted, now).map((entry, index): ValueChange => [[...path, kept + index], entry]);
    return [...removed.reverse(), ...added];
  }
  return [[path, wanted]];
}
