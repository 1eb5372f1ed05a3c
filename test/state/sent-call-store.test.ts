import { expect, test } from "vitest";
import { createSentCallStore } from "../../src/state/sent-call-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { stateDirectory } from "./support.ts";

const call = { sent: "s", reduced: "r", returned: "s" };

test("calls are found by their principal alone, after a restart too", async () => {
  using directory = stateDirectory();
  const first = await openStateDatabase(directory.file);
  const store = createSentCallStore(first);
  store.keep("alice", "c1", call);
  store.keep("alice", "c2", call);
  store.keep("alice", "c2", { ...call, returned: "other" });
  first.close();
  const second = await openStateDatabase(directory.file);
  const reopened = createSentCallStore(second);
  expect([...reopened.find("alice", ["c1", "c2", "c3"])]).toEqual([
    ["c1", call],
    ["c2", { ...call, returned: "other" }],
  ]);
  expect(reopened.find("bob", ["c1"]).size).toBe(0);
  second.close();
});

test("the oldest make room, old ones expire, and a state that is gone costs no request", async () => {
  let now = 0;
  const database = await openStateDatabase(":memory:");
  const store = createSentCallStore(database, { maxItems: 3, ttlMs: 100, now: () => now++ });
  const ids = ["a", "b", "c", "d"];
  for (const id of ids) store.keep("p", id, call);
  expect([...store.find("p", ids).keys()]).toEqual(["b", "c", "d"]);
  now += 100;
  expect(store.find("p", ids).size).toBe(0);
  database.close();
  store.keep("p", "e", call);
  expect(store.find("p", ["e"]).size).toBe(0);
});
