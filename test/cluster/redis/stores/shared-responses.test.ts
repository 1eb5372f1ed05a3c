import { afterEach, describe, expect, it } from "vitest";
import type { RedisLink } from "../../../../src/cluster/redis/redis-link.ts";
import { createSharedResponses } from "../../../../src/cluster/redis/stores/shared-responses.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import { createResponseStore } from "../../../../src/state/response-store.ts";
import { openStateDatabase } from "../../../../src/state/state-database.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const answer = (id: string, previousId?: string) => ({
  id,
  previousId,
  body: `{"id":"${id}"}`,
  input: [{ id: `${id}-in`, json: `"${id} in"` }],
  output: [{ id: `${id}-out`, json: `"${id} out"` }],
});

const itemsOf = (...ids: string[]) => ids.flatMap((id) => [`"${id} in"`, `"${id} out"`]);

async function openNode(redis: RedisProcess) {
  const link = await openLink(redis, defer);
  const state = await openStateDatabase(":memory:");
  /** How many of the next replies come late: the commands have their effect. */
  const late = { next: 0 };
  const slow: RedisLink = {
    get isUp() {
      return link.isUp;
    },
    failures: 0,
    get backForMs() {
      return link.backForMs;
    },
    ask: async (work, fallback) => {
      const reply = await link.ask(work, fallback);
      return late.next-- > 0 ? fallback("late") : reply;
    },
    onChange: (listener) => link.onChange(listener),
    tell: (news) => link.tell(news),
    onNews: (type, listener) => link.onNews(type, listener),
    reportDamaged: () => {},
    key: (...parts) => link.key(...parts),
    close: () => {},
  };
  const writes = new WriteBehind(link);
  defer(() => {
    writes.close();
    state.close();
  });
  const local = createResponseStore(state);
  const store = createSharedResponses({ link: slow, writes, scope: "sim", redisMs: 2000 }, local);
  return { link, late, store, local };
}

async function setUp() {
  const redis = await startRedis(defer);
  const [one, other] = [await openNode(redis), await openNode(redis)];
  const pause = async () => {
    redis.signal("SIGSTOP");
    defer(() => redis.signal("SIGCONT"));
    await Promise.all(
      [one, other].map(async ({ store }) => {
        await expect(store.find("p", "none")).rejects.toMatchObject(UNAVAILABLE);
      }),
    );
    await expect.poll(() => [one.link.isUp, other.link.isUp], { timeout: 20_000 }).toEqual([false, false]);
  };
  return { redis, one, other, pause };
}

/** Returns the code of an error. */
const readOrFail = async ({ store }: Awaited<ReturnType<typeof openNode>>, id: string) => {
  try {
    return await store.find("p", id);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

const UNAVAILABLE = { kind: "busy", code: "store_unavailable", retryable: true };

describe.skipIf(!hasRedis)("stored answers of several gateways", () => {
  it("are at the others when their end is shown", async () => {
    const { one, other } = await setUp();
    for (let turn = 0; turn < 20; turn++) {
      const node = turn % 2 === 0 ? one : other;
      const previous = turn === 0 ? undefined : `a${turn - 1}`;
      if (previous !== undefined) expect(await node.store.conversation("p", previous)).toHaveLength(2 * turn);
      await node.store.put("p", answer(`a${turn}`, previous));
    }
  });

  it("are asked for again when Redis is late, and never said to be missing (REL-45)", async () => {
    const { one, other } = await setUp();
    await one.store.put("p", answer("a"));
    other.late.next = 1;
    expect(await other.store.conversation("p", "a")).toEqual(itemsOf("a"));
    other.late.next = 2;
    await one.store.put("p", answer("b"));
    await expect(other.store.find("p", "b")).rejects.toMatchObject(UNAVAILABLE);
    expect(await other.store.find("p", "b")).toEqual(answer("b"));
    expect(await other.store.find("p", "unknown")).toBeUndefined();
  });

  it("are those of this gateway while Redis is away, and others may exist (REL-45)", async () => {
    const { one, other, pause } = await setUp();
    await one.store.put("p", answer("a"));
    await other.store.put("p", answer("b", "a"));
    await pause();
    expect(await one.store.find("p", "a")).toEqual(answer("a"));
    expect(await one.store.conversation("p", "a")).toEqual(itemsOf("a"));
    await expect(one.store.find("p", "b")).rejects.toMatchObject(UNAVAILABLE);
    await expect(other.store.conversation("p", "b")).rejects.toMatchObject(UNAVAILABLE);
    await expect(other.store.findItem("p", "a-in")).rejects.toMatchObject(UNAVAILABLE);
    // A new answer is kept here, and its end does not wait.
    const begun = performance.now();
    await one.store.put("p", answer("c", "a"));
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(await one.store.conversation("p", "c")).toEqual(itemsOf("a", "c"));
  });

  it("that were deleted anywhere are read nowhere, also when Redis is gone then", async () => {
    const { one, other, pause } = await setUp();
    await one.store.put("p", answer("a"));
    await one.store.put("p", answer("b", "a"));
    expect(await other.store.conversation("p", "b")).toEqual(itemsOf("a", "b"));
    expect(await other.store.delete("p", "a")).toBe(true);
    await expect.poll(() => one.local.find("p", "a")).toBeUndefined();
    await pause();
    for (const { store } of [one, other]) {
      await expect(store.find("p", "a")).rejects.toMatchObject(UNAVAILABLE);
      await expect(store.conversation("p", "b")).rejects.toMatchObject(UNAVAILABLE);
    }
  });

  it("are not deleted while Redis is away, and the client is to ask again", async () => {
    const { redis, one, other, pause } = await setUp();
    await one.store.put("p", answer("a"));
    await pause();
    for (const { store } of [one, other]) await expect(store.delete("p", "a")).rejects.toMatchObject(UNAVAILABLE);
    expect(await one.store.find("p", "a")).toEqual(answer("a"));
    redis.signal("SIGCONT");
    await expect.poll(() => [one.link.isUp, other.link.isUp], { timeout: 10_000 }).toEqual([true, true]);
    expect(await other.store.delete("p", "a")).toBe(true);
    expect(await one.store.find("p", "a")).toBeUndefined();
  });

  it("stay with who made or continued them when Redis comes back empty", async () => {
    const { redis, one, other } = await setUp();
    await one.store.put("p", answer("a"));
    expect(await other.store.conversation("p", "a")).toEqual(itemsOf("a"));
    await other.store.put("p", answer("b", "a"));
    await redis.kill();
    await expect.poll(() => [one.link.isUp, other.link.isUp]).toEqual([false, false]);
    await redis.restart();
    await expect.poll(() => [one.link.isUp, other.link.isUp], { timeout: 10_000 }).toEqual([true, true]);
    expect(await other.store.conversation("p", "b")).toEqual(itemsOf("a", "b"));
    expect(await one.store.find("p", "a")).toEqual(answer("a"));
    // Until the others have written what they kept.
    await expect(one.store.find("p", "b")).rejects.toMatchObject(UNAVAILABLE);
    await expect.poll(() => readOrFail(one, "b"), { timeout: 10_000 }).toBeUndefined();
  });

  it("that were made while Redis was away are never said to be missing when it is back (REL-45)", async () => {
    const { redis, one, other } = await setUp();
    await redis.kill();
    await expect.poll(() => [one.link.isUp, other.link.isUp]).toEqual([false, false]);
    await one.store.put("p", answer("a"));
    await redis.restart();
    const seen = new Set<string>();
    await expect
      .poll(
        async () => {
          const found = await readOrFail(other, "a");
          seen.add(found === undefined ? "missing" : typeof found === "string" ? found : "found");
          return [...seen];
        },
        { timeout: 10_000, interval: 10 },
      )
      .toContain("found");
    expect(seen).not.toContain("missing");
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["damaged", { data: "damaged" }],
    ["cut", { data: "" }],
    ["from the future", { data: "\u0000\u0000\u0000\u0000{}", previous: "" }],
  ])("that are %s in Redis count as missing, and others do not", async (_, fields) => {
    const { one, other } = await setUp();
    await one.store.put("p", answer("a"));
    await one.store.put("p", answer("b"));
    await one.link.ask(
      async (client) => {
        for (const key of await client.keys("*:response:*")) {
          if ((await client.type(key)) !== "hash" || key.includes("sizes")) continue;
          if ((await client.hGet(key, "data"))?.includes('"id":"a"')) await client.hSet(key, { ...fields });
        }
      },
      () => expect.unreachable("Redis is away"),
    );
    expect(await other.store.find("p", "a")).toBeUndefined();
    expect(await one.store.find("p", "a")).toEqual(answer("a"));
    expect(await other.store.find("p", "b")).toEqual(answer("b"));
  });
});
