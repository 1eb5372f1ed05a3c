import { afterEach, describe, expect, it } from "vitest";
import { type RoomLimits, ValueRoom } from "../../../../src/cluster/redis/stores/value-room.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

async function setUp(limits: Partial<RoomLimits>) {
  const link = await openLink(await startRedis(defer), defer);
  const room = new ValueRoom(link, ["test"], {
    maxBytes: 1e6,
    maxItems: 1000,
    maxValueBytes: 1e5,
    ttlMs: 60_000,
    ...limits,
  });
  const put = (principalId: string, id: string, size = 10, field = "data") =>
    link.ask(
      (client) =>
        room.put(client, {
          principalId,
          key: room.key(principalId, id),
          fields: [[field, "x".repeat(size)]],
          pointers: [room.key(principalId, "to", id)],
        }),
      () => expect.unreachable("Redis is away"),
    );
  const kept = async (principalId: string, ids: readonly string[]) => {
    const found = await link.ask(
      (client) => Promise.all(ids.map((id) => client.exists(room.key(principalId, id)))),
      () => [],
    );
    return ids.filter((_, at) => found[at] === 1);
  };
  return { link, room, put, kept };
}

const names = (count: number) => Array.from({ length: count }, (_value, at) => `id-${at}`);

describe.skipIf(!hasRedis)("the rooms of principals in Redis", () => {
  it.each([{ maxItems: 5 }, { maxBytes: 5 * 14 }])("greedy ones push out their own (%o) (SEC-36)", async (limits) => {
    const { put, kept } = await setUp(limits);
    await put("alice", "id-0");
    for (const id of names(20)) await put("greedy", id);
    expect(await kept("alice", ["id-0"])).toEqual(["id-0"]);
    expect(await kept("greedy", names(20))).toEqual(names(20).slice(-5));
  });

  it("callers with tokens share one room, and push out neither the owner nor keys (SEC-36)", async () => {
    const { put, kept } = await setUp({ maxItems: 4 });
    for (const principal of ["owner", "key_alice_0"]) await put(principal, "id-0");
    for (let caller = 0; caller < 20; caller++) await put(`token_${caller}`, "id-0");
    for (const principal of ["owner", "key_alice_0", "token_19", "token_16"]) {
      expect(await kept(principal, ["id-0"])).toEqual(["id-0"]);
    }
    expect(await kept("token_15", ["id-0"])).toEqual([]);
  });

  it("a value that grows too large is deleted, and the next one begins again", async () => {
    const { put, kept } = await setUp({ maxValueBytes: 100 });
    expect(await put("alice", "id-0", 60, "a")).toBe("put");
    expect(await put("alice", "id-0", 60, "a")).toBe("put");
    expect(await put("alice", "id-0", 60, "b")).toBe("large");
    expect(await kept("alice", ["id-0"])).toEqual([]);
    expect(await put("alice", "id-0", 60, "b")).toBe("put");
    expect(await put("alice", "too large", 101)).toBe("large");
  });

  it("everything expires", async () => {
    const { put, kept, link } = await setUp({ maxItems: 2 });
    for (const id of names(2)) await put("alice", id);
    await put("alice", "id-2");
    expect(await kept("alice", names(3))).toEqual(["id-1", "id-2"]);
    const times = await link.ask(
      async (client) => Promise.all((await client.keys("*")).map((key) => client.pTTL(key))),
      () => [],
    );
    expect(times.length).toBeGreaterThan(4);
    expect(Math.min(...times)).toBeGreaterThan(0);
  });
});
