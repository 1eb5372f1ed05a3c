import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Checkpoint } from "../../src/core/history/checkpoints.ts";
import { createCheckpointStore } from "../../src/state/checkpoint-store.ts";
import { openStateDatabase, type StateDatabase } from "../../src/state/state-database.ts";
import { checkpoint, stateDirectory } from "./support.ts";

const usage = ({ connection }: StateDatabase) => ({
  ...connection.prepare("SELECT total(bytes) AS bytes, total(items) AS checkpoints FROM holding").get(),
});
const rows = ({ connection }: StateDatabase, table: string) =>
  connection.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"];

describe("a checkpoint", () => {
  test("is found by its principal and its history alone, after a restart too", async () => {
    using directory = stateDirectory();
    const first = await openStateDatabase(directory.file);
    const kept = checkpoint("c", "state", "one", "two");
    createCheckpointStore(first).put("alice", "h", kept);
    first.close();
    const second = await openStateDatabase(directory.file);
    const store = createCheckpointStore(second);
    expect(store.find("alice", "h")).toEqual(kept);
    expect(store.find("bob", "h")).toBeUndefined();
    expect(store.find("alice", "H")).toBeUndefined();
    second.close();
  });

  test("takes the place of the last one, and the blobs that nobody needs any more go", async () => {
    const database = await openStateDatabase(":memory:");
    const store = createCheckpointStore(database);
    store.put("p", "h1", checkpoint("c", "s1", "a", "b"));
    store.put("p", "h2", checkpoint("c", "s2", "b", "c"));
    expect(rows(database, "blob")).toBe(3);
    store.put("p", "h1", checkpoint("c", "s3", "c"));
    expect(store.find("p", "h1")).toEqual(checkpoint("c", "s3", "c"));
    expect(store.find("p", "h2")).toEqual(checkpoint("c", "s2", "b", "c"));
    expect(rows(database, "blob")).toBe(2);
    store.put("p", "h1", checkpoint("another", "s4", "b"));
    expect(store.find("p", "h1")).toEqual(checkpoint("another", "s4", "b"));
    expect(usage(database)).toEqual({ bytes: 7, checkpoints: 2 });
  });

  test("shares its blobs with no other conversation and no other principal", async () => {
    const database = await openStateDatabase(":memory:");
    const store = createCheckpointStore(database);
    store.put("p", "h1", checkpoint("c1", "s", "same"));
    store.put("p", "h2", checkpoint("c2", "s", "same"));
    store.put("q", "h1", checkpoint("c1", "s", "same"));
    expect(rows(database, "blob")).toBe(3);
    store.put("p", "h3", checkpoint("c1", "s", "same"));
    expect(rows(database, "blob")).toBe(3);
  });

  test("holds any bytes, and none", async () => {
    const store = createCheckpointStore(await openStateDatabase(":memory:"));
    const odd = { conversationId: "", state: new Uint8Array(), blobs: new Map([["", Uint8Array.of(0, 255, 0)]]) };
    store.put("", "", odd);
    expect(store.find("", "")).toEqual(odd);
  });

  test("leaves no trace of the principal's id", async () => {
    const database = await openStateDatabase(":memory:");
    createCheckpointStore(database).put("alice@example.com", "h", checkpoint("c", "s", "a"));
    const [row] = database.connection.prepare("SELECT * FROM checkpoint").all();
    expect(JSON.stringify(row)).not.toContain("alice");
  });

  test("that rotted on the disk is not given out, nor is what shares the rotten part", async () => {
    const database = await openStateDatabase(":memory:");
    const store = createCheckpointStore(database);
    store.put("p", "h1", checkpoint("c", "s1", "rotten", "good"));
    store.put("p", "h2", checkpoint("c", "s2", "rotten"));
    store.put("p", "h3", checkpoint("c", "s3", "good"));
    store.put("p", "h4", checkpoint("c", "s4"));
    database.connection.exec("UPDATE blob SET data = x'00' WHERE data = CAST('rotten' AS BLOB)");
    database.connection.exec("UPDATE checkpoint SET state = x'00' WHERE history = 'h4'");
    expect(["h1", "h2", "h3", "h4"].map((key) => store.find("p", key)?.state.length)).toEqual([
      undefined,
      undefined,
      2,
      undefined,
    ]);
    store.put("p", "h2", checkpoint("c", "s2", "rotten"));
    expect(store.find("p", "h2")).toEqual(checkpoint("c", "s2", "rotten"));
  });
});

describe("the bounds", () => {
  test("one that is too large for all is not kept, and pushes nobody out", async () => {
    const store = createCheckpointStore(await openStateDatabase(":memory:"), { maxBytes: 10 });
    store.put("p", "small", checkpoint("c", "12345"));
    store.put("p", "large", checkpoint("c", "1234", "1234567"));
    expect(store.find("p", "large")).toBeUndefined();
    expect(store.find("p", "small")).toBeDefined();
  });

  test("are the same for all who open the file", async () => {
    using directory = stateDirectory();
    const databases = await Promise.all([openStateDatabase(directory.file), openStateDatabase(directory.file)]);
    const [one, two] = databases.map((database) => createCheckpointStore(database, { maxItems: 2 }));
    one?.put("p", "h1", checkpoint("c", "s", "x"));
    two?.put("p", "h2", checkpoint("c", "s", "x"));
    one?.put("p", "h3", checkpoint("c", "s", "x"));
    expect(two?.find("p", "h1")).toBeUndefined();
    expect(two?.find("p", "h3")).toEqual(checkpoint("c", "s", "x"));
    for (const database of databases) database.close();
  });
});

interface Kept extends Checkpoint {
  readonly owner: string;
  readonly putAt: number;
}

const LIMITS = { maxBytes: 60, maxItems: 5, ttlMs: 20 };

/** What the store shall do, as simply as it can be said. */
class Model {
  readonly #kept = new Map<string, Kept>();

  put(principal: string, history: string, value: Checkpoint, now: number): void {
    const key = `${principal}/${history}`;
    this.#expire(now);
    this.#kept.delete(key);
    const own = value.state.length + sum([...value.blobs.values()]);
    if (own > LIMITS.maxBytes) return;
    this.#kept.set(key, { ...value, owner: `${principal}/${value.conversationId}`, putAt: now });
    for (;;) {
      const isTooMuch = this.bytes > LIMITS.maxBytes;
      if (!isTooMuch && this.#kept.size <= LIMITS.maxItems) return;
      const victim = this.#holdsMost(
        principal,
        isTooMuch ? (who) => this.#bytesOf(who) : (who) => this.#of(who).length,
      );
      const [oldest = ""] = this.#of(victim);
      this.#kept.delete(oldest);
    }
  }

  /** Of two that hold the same, the one that has put nothing just now. */
  #holdsMost(newcomer: string, amount: (principal: string) => number): string {
    const other = newcomer === "p" ? "q" : "p";
    return amount(newcomer) > amount(other) ? newcomer : other;
  }

  #of(principal: string): readonly string[] {
    return [...this.#kept.keys()].filter((key) => key.startsWith(`${principal}/`));
  }

  find(principal: string, history: string, now: number): Checkpoint | undefined {
    const found = this.#kept.get(`${principal}/${history}`);
    if (!found || found.putAt <= now - LIMITS.ttlMs) return undefined;
    return { conversationId: found.conversationId, state: found.state, blobs: found.blobs };
  }

  get size(): number {
    return this.#kept.size;
  }

  get bytes(): number {
    return this.#bytesOf("p") + this.#bytesOf("q");
  }

  #bytesOf(principal: string): number {
    const blobs = new Map<string, Uint8Array>();
    const kept = this.#of(principal).flatMap((key) => this.#kept.get(key) ?? []);
    for (const { owner, blobs: own } of kept) {
      for (const [name, data] of own) blobs.set(`${owner}/${name}`, data);
    }
    return sum([...blobs.values()]) + sum(kept.map(({ state }) => state));
  }

  #expire(now: number): void {
    for (const [key, { putAt }] of this.#kept) if (putAt <= now - LIMITS.ttlMs) this.#kept.delete(key);
  }
}

const sum = (all: readonly Uint8Array[]): number => all.reduce((total, { length }) => total + length, 0);

test("whatever is put and however time goes, it is as the model says", async () => {
  const principal = fc.constantFrom("p", "q");
  const history = fc.constantFrom("h1", "h2", "h3", "h4");
  const texts = fc.uniqueArray(fc.constantFrom("a", "bb", "ccc", "dddd", "e".repeat(25)), { maxLength: 4 });
  const step = fc.record({
    principal,
    history,
    value: fc
      .tuple(fc.constantFrom("c1", "c2"), fc.string({ maxLength: 12, unit: "grapheme-ascii" }), texts)
      .map(([conversation, state, blobs]) => checkpoint(conversation, state, ...blobs)),
    pause: fc.integer({ min: 1, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      let now = 1000;
      const database = await openStateDatabase(":memory:", {
        onNotice: ({ text }) => expect.unreachable(text),
      });
      const store = createCheckpointStore(database, { ...LIMITS, now: () => now });
      const model = new Model();
      for (const { principal, history, value, pause } of steps) {
        now += pause;
        store.put(principal, history, value);
        model.put(principal, history, value, now);
        for (const who of ["p", "q"]) {
          for (const which of ["h1", "h2", "h3", "h4"]) {
            expect(store.find(who, which)).toEqual(model.find(who, which, now));
          }
        }
        expect(usage(database)).toEqual({ bytes: model.bytes, checkpoints: model.size });
      }
      database.close();
    }),
    { numRuns: 60 },
  );
});
