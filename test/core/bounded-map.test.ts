import { expect, it } from "vitest";
import { BoundedMap } from "../../src/core/bounded-map.ts";

it("evicts the entry that was set the longest ago", () => {
  const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});

it("says what it evicts, and not what is replaced or deleted", () => {
  const evicted: unknown[] = [];
  const map = new BoundedMap<string, number>(1, { onEvicted: (...given) => evicted.push(given) });
  map.set("a", 1).set("a", 2).set("b", 3).delete("b");
  map.set("c", 4);
  expect(evicted).toEqual([[2, "a"]]);
});

it("keeps busy entries, and the newest, and evicts them once it may", () => {
  const busy = new Set(["a", "b"]);
  const map = new BoundedMap<string, string>(1, { isBusy: (value) => busy.has(value) });
  for (const name of ["a", "b", "c"]) map.set(name, name);
  expect([...map.keys()]).toEqual(["a", "b", "c"]);
  busy.clear();
  map.set("d", "d");
  expect([...map.keys()]).toEqual(["d"]);
});
