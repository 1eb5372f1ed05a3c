import { chmodSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, test } from "vitest";
import { createCheckpointStore } from "../../src/state/checkpoint-store.ts";
import { MIGRATIONS } from "../../src/state/migrations.ts";
import { createResponseStore } from "../../src/state/response-store.ts";
import { createSessionStore } from "../../src/state/session-store.ts";
import { checkShares } from "../../src/state/shares.ts";
import { openStateDatabase, type StateDatabase } from "../../src/state/state-database.ts";
import { createThoughtStore } from "../../src/state/thought-store.ts";
import { checkpoint, stateDirectory } from "./support.ts";

interface Shelf {
  put(principal: string, id: string, size: number): void;
  has(principal: string, id: string): boolean;
}

interface Limits {
  readonly maxBytes?: number;
  readonly maxItems?: number;
  readonly maxPrincipals?: number;
  readonly now: () => number;
}

/** Every store that principals share, as the same thing. */
const SHELVES: Readonly<Record<string, (database: StateDatabase, limits: Limits) => Shelf>> = {
  checkpoints: (database, { maxItems, ...limits }) => {
    const store = createCheckpointStore(database, { ...limits, ...(maxItems && { maxCheckpoints: maxItems }) });
    return {
      put: (principal, id, size) => store.put(principal, id, checkpoint(id, "s", "x".repeat(size))),
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  "kept answers": (database, { maxItems, ...limits }) => {
    const store = createResponseStore(database, { ...limits, ...(maxItems && { maxResponses: maxItems }) });
    return {
      put: (principal, id, size) => {
        store.delete(principal, id);
        store.put(principal, { id, previousId: undefined, body: "x".repeat(size), input: [], output: [] });
      },
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  thoughts: (database, { maxItems, ...limits }) => {
    const store = createThoughtStore(database, { ...limits, ...(maxItems && { maxThoughts: maxItems }) });
    return {
      put: (principal, id, size) => store.keep(principal, id, { text: "x".repeat(size), signature: undefined }),
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  "conversations of editors": (database, { maxItems, ...limits }) => {
    const store = createSessionStore(database, { ...limits, ...(maxItems && { maxSessions: maxItems }) });
    return {
      put: (principal, id, size) =>
        store.keep(principal, { id, folder: "/", model: "m", title: "t", messages: "x".repeat(size) }),
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
};

const holding = ({ connection }: StateDatabase) =>
  connection
    .prepare("SELECT items, bytes FROM holding ORDER BY bytes")
    .all()
    .map((row) => ({ ...row }));

describe.each(Object.entries(SHELVES))("%s of several principals", (_, create) => {
  async function setUp(limits: Omit<Limits, "now">) {
    const clock = { now: 1_000_000 };
    const database = await openStateDatabase(":memory:", { onNotice: ({ text }) => expect.unreachable(text) });
    const shelf = create(database, { ...limits, now: () => clock.now });
    const put = (principal: string, id: string, size = 10) => {
      clock.now++;
      shelf.put(principal, id, size);
    };
    const kept = (principal: string, ids: readonly string[]) => ids.filter((id) => shelf.has(principal, id));
    return { put, kept, clock, database };
  }
  const names = (count: number) => Array.from({ length: count }, (_value, index) => `id-${index}`);

  it.each([{ maxItems: 10 }, { maxBytes: 120 }])("greedy ones push out their own (%o) (SEC-36)", async (limits) => {
    const { put, kept } = await setUp(limits);
    put("alice", "id-0");
    put("alice", "id-1");
    for (const id of names(50)) put("greedy", id);
    expect(kept("alice", names(2))).toEqual(names(2));
    expect(kept("greedy", names(50)).at(-1)).toBe("id-49");
    expect(kept("greedy", names(50)).length).toBeLessThanOrEqual(10);
  });

  it("each gets a fair share when all want everything", async () => {
    const { put, kept } = await setUp({ maxItems: 12 });
    for (const id of names(30)) for (const principal of ["a", "b", "c"]) put(principal, id);
    for (const principal of ["a", "b", "c"]) expect(kept(principal, names(30))).toEqual(names(30).slice(-4));
  });

  it("callers with tokens push out each other, and neither the owner nor keys (SEC-36)", async () => {
    const { put, kept, database } = await setUp({ maxPrincipals: 4 });
    for (const principal of ["owner", "key_alice_0"]) put(principal, "id-0", 1);
    for (const id of names(5)) put("token_regular", id);
    for (let index = 0; index < 40; index++) put(`token_${index}`, "id-0");
    for (const principal of ["owner", "key_alice_0"]) expect(kept(principal, ["id-0"])).toEqual(["id-0"]);
    expect(kept("token_regular", names(5))).toEqual(names(5));
    expect(kept("token_39", ["id-0"])).toEqual(["id-0"]);
    expect(holding(database)).toHaveLength(2 + 4);
  });

  it("more keys than callers with tokens may be push out nobody", async () => {
    const { put, kept } = await setUp({ maxPrincipals: 4 });
    put("owner", "id-0", 1);
    for (let index = 0; index < 10; index++) put(`key_${index}`, "id-0");
    expect(kept("owner", ["id-0"])).toEqual(["id-0"]);
  });

  it.each([{ maxItems: 12 }, { maxBytes: 160 }])("callers with tokens leave a full room full (%o)", async (limits) => {
    const { put, kept } = await setUp(limits);
    for (const id of names(12)) put("owner", id);
    const before = kept("owner", names(12));
    expect(before.length).toBeGreaterThan(6);
    for (let index = 0; index < 40; index++) put(`token_${index}`, "id-0");
    expect(kept("owner", names(12))).toEqual(before);
    expect(kept("token_39", ["id-0"])).toEqual(["id-0"]);
    // What would push out all others is not taken.
    if (limits.maxBytes !== undefined) put("token_big", "id-0", 120);
    expect(kept("token_39", ["id-0"])).toEqual(["id-0"]);
  });

  it("are counted right whatever is put again and again", async () => {
    const { put, database } = await setUp({ maxItems: 3 });
    for (const size of [10, 30, 20]) put("alice", "id-0", size);
    put("alice", "id-1", 5);
    const before = holding(database);
    database.connection.exec("UPDATE holding SET bytes = 999999");
    checkShares(database.connection);
    expect(holding(database)).toEqual(before);
  });

  it("take new ones after the clock was set back (REL-39)", async () => {
    const { put, kept, clock } = await setUp({ maxItems: 3 });
    for (const id of names(3)) put("alice", id);
    clock.now -= 2 * 3_600_000;
    put("alice", "id-3");
    put("alice", "id-4");
    expect(kept("alice", names(5)).slice(-2)).toEqual(["id-3", "id-4"]);
  });
});

test("a file of the version before is counted when it is opened", async () => {
  using directory = stateDirectory();
  mkdirSync(dirname(directory.file), { mode: 0o700, recursive: true });
  const old = new DatabaseSync(directory.file);
  for (const step of MIGRATIONS.slice(0, 4)) old.exec(step);
  old.exec(`PRAGMA user_version = 4;
    INSERT INTO checkpoint VALUES (1, x'01', 'h', 'c', x'0203', 0, ${Date.now()});
    INSERT INTO blob (id, owner, name, data, seal) VALUES (1, x'0a', 'n', x'040506', 0), (2, x'0a', 'lost', x'07', 0);
    INSERT INTO ref VALUES (1, 1);
    INSERT INTO response VALUES (1, x'01', 'r', NULL, '{}', 2, ${Date.now()});
    INSERT INTO thought VALUES (x'02', 't', x'00', 'hm', NULL, 2, ${Date.now()});`);
  old.close();
  chmodSync(directory.file, 0o600);
  const database = await openStateDatabase(directory.file, { onNotice: ({ text }) => expect.unreachable(text) });
  const rows = database.connection.prepare("SELECT store, items, bytes FROM holding ORDER BY store").all();
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { store: "checkpoint", items: 1, bytes: 5 },
    { store: "response", items: 1, bytes: 2 },
    { store: "thought", items: 1, bytes: 2 },
  ]);
  database.close();
});
