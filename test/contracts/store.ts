import { describe, expect, it } from "vitest";
import { checkShares, type StoreOptions } from "../../src/state/shared-table.ts";
import { openStateDatabase, type StateDatabase } from "../../src/state/state-database.ts";
import { stateDirectory } from "../state/support.ts";

/** Any store, seen as rows of a size. */
interface Shelf {
  put(principal: string, id: string, size: number): void;
  has(principal: string, id: string): boolean;
}

export type StoreFixture = (database: StateDatabase, options: StoreOptions) => Shelf;

const holding = ({ connection }: StateDatabase) =>
  connection
    .prepare("SELECT items, bytes FROM holding ORDER BY bytes")
    .all()
    .map((row) => ({ ...row }));

/** The contract of every store whose rows belong to principals. */
export function describeStore(name: string, create: StoreFixture): void {
  describe(`${name} of several principals`, () => {
    async function setUp(limits: StoreOptions) {
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

    it("give a row back to its principal and to nobody else (SEC-30)", async () => {
      const { put, kept } = await setUp({});
      put("alice", "id-0");
      expect([kept("alice", ["id-0"]), kept("bob", ["id-0"]), kept("token_alice", ["id-0"])]).toEqual([
        ["id-0"],
        [],
        [],
      ]);
    });

    it("forget a row when its time is over", async () => {
      const { put, kept, clock } = await setUp({ ttlMs: 1000 });
      put("alice", "id-0");
      clock.now += 999;
      expect(kept("alice", ["id-0"])).toEqual(["id-0"]);
      clock.now += 1;
      expect(kept("alice", ["id-0"])).toEqual([]);
    });

    it("survive a restart", async () => {
      using directory = stateDirectory();
      const first = await openStateDatabase(directory.file);
      create(first, {}).put("alice", "id-0", 10);
      first.close();
      const second = await openStateDatabase(directory.file);
      expect(create(second, {}).has("alice", "id-0")).toBe(true);
      second.close();
    });

    it("lose rows instead of failing a request when the file is gone", async () => {
      const database = await openStateDatabase(":memory:");
      const shelf = create(database, {});
      database.close();
      expect(() => shelf.put("alice", "id-0", 10)).not.toThrow();
      expect(shelf.has("alice", "id-0")).toBe(false);
    });

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

    it.each([{ maxItems: 12 }, { maxBytes: 160 }])(
      "callers with tokens leave a full room full (%o)",
      async (limits) => {
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
      },
    );

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
}
