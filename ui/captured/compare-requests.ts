import type { Json } from "../json.ts";
import { readOptions, readRequest, type Said } from "./read-messages.ts";

/** What a request has that the one before it did not, and the other way round. */
export interface RequestChange {
  /** Messages at the beginning that are the same. */
  readonly same: number;
  readonly removed: readonly Said[];
  readonly added: readonly Said[];
  readonly options: readonly {
    readonly name: string;
    readonly before: string | undefined;
    readonly after: string | undefined;
  }[];
}

export function compareRequests(before: Json, after: Json): RequestChange {
  const [old, current] = [readRequest(before), readRequest(after)];
  const isSame = (index: number) => JSON.stringify(old[index]) === JSON.stringify(current[index]);
  let same = 0;
  while (same < old.length && same < current.length && isSame(same)) same++;
  const [had, has] = [readOptions(before), readOptions(after)];
  const names = [...new Set([...Object.keys(had), ...Object.keys(has)])].filter((name) => had[name] !== has[name]);
  return {
    same,
    removed: old.slice(same),
    added: current.slice(same),
    options: names.map((name) => ({ name, before: had[name], after: has[name] })),
  };
}
