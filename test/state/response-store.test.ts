import { describe, expect, test } from "vitest";
import { createResponseStore } from "../../src/state/response-store.ts";
import type { StoreOptions } from "../../src/state/shared-table.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { stateDirectory } from "./support.ts";

const response = (id: string, previousId?: string, size = 1) => ({
  id,
  previousId,
  body: `{"id":"${id}"}`,
  input: [{ id: `in_${id}`, json: `"asked ${id}"` }],
  output: [{ id: `out_${id}`, json: JSON.stringify("x".repeat(size)) }],
});

async function inMemory(options: StoreOptions = {}) {
  const database = await openStateDatabase(":memory:");
  const rows = (table: string) => database.connection.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"];
  return { store: createResponseStore(database, options), rows, database };
}

describe("a kept answer", () => {
  test("is there for its principal alone, after a restart too", async () => {
    using directory = stateDirectory();
    const first = await openStateDatabase(directory.file);
    createResponseStore(first).put("alice", response("r1"));
    first.close();
    const second = await openStateDatabase(directory.file);
    const store = createResponseStore(second);
    expect(store.find("alice", "r1")).toEqual(response("r1"));
    expect(store.findItem("alice", "out_r1")).toBe('"x"');
    for (const [who, id] of [
      ["bob", "r1"],
      ["alice", "R1"],
    ] as const) {
      expect(store.find(who, id)).toBeUndefined();
      expect(store.conversation(who, id)).toBeUndefined();
      expect(store.findItem(who, `out_${id}`)).toBeUndefined();
      expect(store.delete(who, id)).toBe(false);
    }
    second.close();
  });

  test("two principals may have one of the same id", async () => {
    const { store } = await inMemory();
    store.put("alice", response("r1"));
    store.put("bob", response("r1", undefined, 5));
    expect(store.find("alice", "r1")).toEqual(response("r1"));
    expect(store.find("bob", "r1")).toEqual(response("r1", undefined, 5));
  });

  test("stands in its conversation, which is whole or not there", async () => {
    const { store } = await inMemory();
    store.put("p", response("r1"));
    store.put("p", response("r2", "r1"));
    store.put("p", response("r3", "r2"));
    store.put("p", response("fork", "r1"));
    expect(store.conversation("p", "r3")).toEqual(['"asked r1"', '"x"', '"asked r2"', '"x"', '"asked r3"', '"x"']);
    expect(store.conversation("p", "fork")).toEqual(['"asked r1"', '"x"', '"asked fork"', '"x"']);
    store.delete("p", "r2");
    expect(store.conversation("p", "r3")).toBeUndefined();
    expect(store.conversation("p", "fork")).toBeDefined();
  });

  test("that goes on from itself is none", async () => {
    const { store } = await inMemory();
    store.put("p", response("r1", "r1"));
    expect(store.conversation("p", "r1")).toBeUndefined();
  });

  test("leaves nothing behind when it goes", async () => {
    const { store, rows } = await inMemory();
    store.put("p", response("r1"));
    expect(store.delete("p", "r1")).toBe(true);
    expect([rows("response"), rows("response_item")]).toEqual([0, 0]);
  });
});

describe("what is kept is bounded", () => {
  test("by age, counted from when its conversation last went on", async () => {
    let time = 0;
    const { store, rows } = await inMemory({ ttlMs: 100, now: () => time });
    store.put("p", response("r1"));
    time = 60;
    store.put("p", response("r2", "r1"));
    time = 110;
    expect(store.conversation("p", "r2")).toHaveLength(4);
    time = 161;
    for (const id of ["r1", "r2"]) expect(store.find("p", id)).toBeUndefined();
    expect(store.findItem("p", "in_r1")).toBeUndefined();
    store.put("p", response("r3"));
    expect(rows("response")).toBe(1);
  });

  test("by number and by bytes, the oldest first", async () => {
    let time = 0;
    const few = await inMemory({ maxItems: 2, now: () => time++ });
    for (const id of ["r1", "r2", "r3"]) few.store.put("p", response(id));
    expect(["r1", "r2", "r3"].map((id) => few.store.find("p", id) !== undefined)).toEqual([false, true, true]);
    const small = await inMemory({ maxBytes: 1000, now: () => time++ });
    small.store.put("p", response("r1", undefined, 400));
    small.store.put("p", response("r2", undefined, 400));
    small.store.put("p", response("huge", undefined, 2000));
    expect(small.rows("response")).toBe(2);
    small.store.put("p", response("r3", undefined, 400));
    expect(small.store.find("p", "r1")).toBeUndefined();
    expect(small.rows("response")).toBe(2);
  });

  test("and a state that is closed or broken costs no more than what was kept", async () => {
    const { store, database } = await inMemory();
    database.close();
    store.put("p", response("r1"));
    expect(store.find("p", "r1")).toBeUndefined();
    expect(store.delete("p", "r1")).toBe(false);
  });
});
