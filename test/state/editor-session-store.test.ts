import { describe, expect, it } from "vitest";
import { createEditorSessionStore, type EditorSessionStoreOptions } from "../../src/state/editor-session-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";

async function openStore(options: EditorSessionStoreOptions = {}) {
  let now = 1_000_000;
  const database = await openStateDatabase(":memory:", { onNotice: () => {} });
  return {
    store: createEditorSessionStore(database, { now: () => now, ...options }),
    later: (ms: number) => {
      now += ms;
    },
  };
}

const session = (id: string, messages = "[]", folder = "/p") => ({ id, folder, model: "auto", title: id, messages });

describe("conversations of editors", () => {
  it("are found by whoever had them, and listed with the newest first", async () => {
    const { store, later } = await openStore();
    store.keep("owner", session("a"));
    later(1);
    store.keep("owner", session("b", "[1]", "/q"));
    expect(store.find("owner", "b")).toEqual(session("b", "[1]", "/q"));
    expect(store.find("another", "b")).toBeUndefined();
    expect(store.list("owner", undefined).map(({ id }) => id)).toEqual(["b", "a"]);
    expect(store.list("owner", "/p").map(({ id }) => id)).toEqual(["a"]);
    expect(store.list("another", undefined)).toEqual([]);
    later(1);
    store.keep("owner", session("a", "[2]"));
    expect(store.list("owner", undefined).map(({ id }) => id)).toEqual(["a", "b"]);
    store.forget("another", "a");
    expect(store.find("owner", "a")?.messages).toBe("[2]");
    store.forget("owner", "a");
    expect(store.find("owner", "a")).toBeUndefined();
  });

  it("are so many, so large and so old; the oldest make room", async () => {
    const { store, later } = await openStore({ maxItems: 2, maxBytes: 100, maxSessionBytes: 60, ttlMs: 1000 });
    for (const id of ["a", "b", "c"]) {
      store.keep("owner", session(id));
      later(1);
    }
    expect(store.list("owner", undefined).map(({ id }) => id)).toEqual(["c", "b"]);
    store.keep("owner", session("d", "x".repeat(55)));
    later(1);
    store.keep("owner", session("e", "x".repeat(55)));
    expect(store.list("owner", undefined).map(({ id }) => id)).toEqual(["e"]);
    // Half of a conversation is not that conversation: one that has grown too large is gone.
    store.keep("owner", session("e", "x".repeat(61)));
    expect(store.find("owner", "e")).toBeUndefined();
    store.keep("owner", session("f"));
    later(1001);
    expect([store.find("owner", "f"), store.list("owner", undefined)]).toEqual([undefined, []]);
  });
});
