import { describe, expect, test } from "vitest";
import type { HubRound } from "../../src/core/hub/hub-answers.ts";
import { createHubAnswerStore, type HubAnswerStoreOptions } from "../../src/state/hub-answer-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { stateDirectory } from "./support.ts";

const round = (value: string): HubRound => ({
  said: {
    role: "assistant",
    content: [
      { type: "text", text: "well" },
      { type: "tool-call", id: "1", name: "t", args: { a: [1] }, isHubs: true },
    ],
  },
  results: [{ role: "tool", callId: "1", isError: false, isHubs: true, content: [{ type: "text", text: value }] }],
});

const place = (id: string, principalId = "alice") => ({ principalId, id, askedKey: `asked-${id}` });

async function inMemory(options: HubAnswerStoreOptions = {}) {
  const database = await openStateDatabase(":memory:");
  const store = createHubAnswerStore(database, options);
  const has = (id: string, principalId?: string) => store.findAsked(principalId ?? "alice", `asked-${id}`).length > 0;
  return { database, store, has };
}

describe("kept answers of the hub", () => {
  test("are found by request and history, by their principal alone, after a restart too", async () => {
    using directory = stateDirectory();
    const first = await openStateDatabase(directory.file);
    const image = { type: "image", mediaType: "image/png", data: new Uint8Array([0, 255]) } as const;
    const [result] = round("").results;
    const pictured = { ...round(""), results: result ? [{ ...result, content: [image] }] : [] };
    const before = createHubAnswerStore(first);
    before.putRound(place("1"), 0, { ...round(""), results: [] });
    before.putRound(place("1"), 0, round("ok ☕"));
    before.putRound(place("1"), 1, pictured);
    before.putEnd(place("1"), { text: "end", reason: "stop" }, "history");
    first.close();
    const second = await openStateDatabase(directory.file);
    const store = createHubAnswerStore(second);
    const [found] = store.findAsked("alice", "asked-1");
    expect(found).toMatchObject({ id: "1", end: { text: "end", reason: "stop" }, isSettled: false });
    expect(found?.rounds).toEqual([round("ok ☕"), pictured]);
    expect(store.findAnswered("alice", ["other", "history"]).get("history")?.rounds).toEqual(found?.rounds);
    expect(store.findAsked("bob", "asked-1")).toEqual([]);
    expect(store.findAnswered("bob", ["history"]).size).toBe(0);
    store.settle(place("1"));
    expect(store.findAsked("alice", "asked-1")[0]?.isSettled).toBe(true);
    second.close();
  });

  test("expire, and count their age from the last write", async () => {
    let now = 1000;
    const { store, has } = await inMemory({ ttlMs: 10, now: () => now });
    store.putRound(place("1"), 0, round("a"));
    now += 9;
    expect(store.findAsked("alice", "asked-1")[0]?.ageMs).toBe(9);
    now += 1;
    expect(has("1")).toBe(false);
  });

  test("make room by number and by size, from the principal that holds most", async () => {
    const { store, has } = await inMemory({ maxItems: 3 });
    store.putRound(place("other", "bob"), 0, round("a"));
    for (const id of ["1", "2", "3"]) store.putRound(place(id), 0, round("a"));
    expect(["1", "2", "3"].map((id) => has(id))).toEqual([false, true, true]);
    expect(has("other", "bob")).toBe(true);
    const small = await inMemory({ maxBytes: 1000 });
    small.store.putRound(place("other", "bob"), 0, round("a"));
    small.store.putRound(place("1"), 0, round("x".repeat(500)));
    small.store.putRound(place("2"), 0, round("x".repeat(500)));
    expect([small.has("1"), small.has("2"), small.has("other", "bob")]).toEqual([false, true, true]);
  });

  test("are not lost to older ones after the clock was set back (REL-39)", async () => {
    let now = 10 * 3_600_000;
    const { store, has } = await inMemory({ maxItems: 2, now: () => now });
    for (const id of ["1", "2"]) store.putRound(place(id), 0, round("a"));
    now -= 2 * 3_600_000;
    expect(store.findAsked("alice", "asked-2")[0]?.ageMs).toBe(0);
    for (const id of ["3", "4"]) store.putRound(place(id), 0, round("a"));
    expect(["1", "2", "3", "4"].map((id) => has(id))).toEqual([false, false, true, true]);
    // Answers of the clock that was ahead age from now on: a broken one is not repeated for hours.
    store.putRound(place("5"), 0, round("a"));
    now -= 3_600_000;
    store.putRound(place("6"), 0, round("a"));
    now += 900_000;
    expect(store.findAsked("alice", "asked-5")[0]?.ageMs).toBeGreaterThanOrEqual(900_000);
  });

  test("of callers with tokens push out each other's, and not the owner's (SEC-36)", async () => {
    const { store, has } = await inMemory({ maxBytes: 4000 });
    store.putRound(place("1", "owner"), 0, round("x".repeat(3000)));
    for (let index = 0; index < 20; index++) {
      store.putRound(place("1", `token_${index}`), 0, round("x".repeat(500)));
    }
    expect(has("1", "owner")).toBe(true);
    const left = Array.from({ length: 20 }, (_, index) => has("1", `token_${index}`)).filter(Boolean);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(5);
  });

  test("of the principal that has the most make room where all have too much", async () => {
    const { store, has } = await inMemory({ maxBytes: 2000 });
    store.putRound(place("small", "bob"), 0, round("x".repeat(100)));
    for (const id of ["1", "2", "3"]) store.putRound(place(id), 0, round("x".repeat(500)));
    expect([has("1"), has("3"), has("small", "bob")]).toEqual([false, true, true]);
  });

  test("say of a result that is too large that there was one", async () => {
    const { store } = await inMemory({ maxResultBytes: 10 });
    store.putRound(place("1"), 0, round("x".repeat(11)));
    const [result] = store.findAsked("alice", "asked-1")[0]?.rounds[0]?.results ?? [];
    expect(result?.content).toEqual([{ type: "text", text: expect.stringContaining("11 bytes was too large") }]);
  });

  test("are gone if they are damaged", async () => {
    const { store, database, has } = await inMemory();
    store.putRound(place("1"), 0, round("a"));
    database.connection.exec("UPDATE hub_round SET body = replace(body, 'well', 'hell')");
    expect(has("1")).toBe(false);
    expect(database.connection.prepare("SELECT count(*) AS n FROM hub_round").get()?.["n"]).toBe(0);
  });
});
