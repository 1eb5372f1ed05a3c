import { describe, expect, test } from "vitest";
import type { StoreOptions } from "../../src/state/shared-table.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { createThoughtStore } from "../../src/state/thought-store.ts";
import { stateDirectory } from "./support.ts";

const thought = (text: string, signature?: string) => ({ text, signature });

async function inMemory(options: StoreOptions = {}) {
  const database = await openStateDatabase(":memory:");
  const count = () => database.connection.prepare("SELECT count(*) AS n FROM thought").get()?.["n"];
  return { store: createThoughtStore(database, options), count, database };
}

describe("kept thinking", () => {
  test("is found by its id and its text, by its principal alone, after a restart too", async () => {
    using directory = stateDirectory();
    const first = await openStateDatabase(directory.file);
    createThoughtStore(first).keep("alice", "t1", thought("I see ☕", "sig+/="));
    createThoughtStore(first).keep("alice", "t2", thought("unsigned"));
    first.close();
    const second = await openStateDatabase(directory.file);
    const store = createThoughtStore(second);
    expect(store.find("alice", "t1")).toEqual(thought("I see ☕", "sig+/="));
    expect(store.findByText("alice", "I see ☕")).toEqual(thought("I see ☕", "sig+/="));
    expect(store.find("alice", "t2")).toEqual(thought("unsigned"));
    for (const found of [store.find("bob", "t1"), store.findByText("bob", "I see ☕"), store.find("alice", "t3")]) {
      expect(found).toBeUndefined();
    }
    second.close();
  });

  test("expires", async () => {
    let now = 1000;
    const { store, count } = await inMemory({ ttlMs: 10, now: () => now });
    store.keep("p", "old", thought("a"));
    now += 10;
    expect(store.find("p", "old")).toBeUndefined();
    expect(store.findByText("p", "a")).toBeUndefined();
    store.keep("p", "new", thought("b"));
    expect(count()).toBe(1);
  });

  test("makes room, the oldest first, and takes nothing that has none", async () => {
    let now = 0;
    const { store, count } = await inMemory({ maxBytes: 100, maxItems: 3, now: () => now++ });
    for (const id of ["a", "b", "c", "d"]) store.keep("p", id, thought(id));
    expect([store.find("p", "a"), count()]).toEqual([undefined, 3]);
    store.keep("p", "large", thought("x".repeat(98)));
    expect([store.find("p", "large")?.text.length, store.find("p", "b"), count()]).toEqual([98, undefined, 3]);
    store.keep("p", "too large", thought("x".repeat(101)));
    expect([store.find("p", "too large"), store.find("p", "large")?.text.length]).toEqual([undefined, 98]);
  });

  test("costs no request when the state is gone", async () => {
    const { store, database } = await inMemory();
    database.close();
    store.keep("p", "a", thought("a"));
    expect(store.find("p", "a")).toBeUndefined();
  });
});
