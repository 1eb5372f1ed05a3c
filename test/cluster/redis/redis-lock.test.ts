import { afterEach, describe, expect, it } from "vitest";
import { takeLock, withRedisLock } from "../../../src/cluster/redis/redis-lock.ts";
import { openLink } from "../../contracts/nodes.ts";
import { hasRedis, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/** How long a node that is gone may be waited for. */
const FEW_SECONDS_MS = 5000;

describe.skipIf(!hasRedis)("a lock of all nodes", () => {
  async function setUp() {
    const redis = await startRedis(defer);
    const [one, other] = [await openLink(redis, defer), await openLink(redis, defer)];
    const key = one.key("lock");
    const ttl = () =>
      other.ask(
        (client) => client.pTTL(key),
        () => expect.unreachable(),
      );
    return { one, other, key, ttl };
  }

  it("is held for a few seconds only and renewed meanwhile, so a node that is gone is not waited for (REL-36)", async () => {
    const { one, other, key, ttl } = await setUp();
    const begun = Promise.withResolvers<void>();
    const order: string[] = [];
    // It dies in the middle of its work: its connection ends, and it renews nothing.
    void withRedisLock(one, key, () => {
      order.push("dies");
      begun.resolve();
      return new Promise(() => {});
    });
    await begun.promise;
    expect(await ttl()).toBeLessThanOrEqual(FEW_SECONDS_MS);
    let last = await ttl();
    const renewed = async () => {
      const before = last;
      last = await ttl();
      return last > before;
    };
    await expect.poll(renewed, { timeout: FEW_SECONDS_MS, interval: 1 }).toBe(true);
    one.close();
    await withRedisLock(other, key, () => order.push("goes on"));
    expect(order).toEqual(["dies", "goes on"]);
    expect(await ttl()).toBe(-2);
  }, 20_000);

  it("is taken by one holder at a time, who may take it again", async () => {
    const { one, other, key } = await setUp();
    expect(await takeLock(one, key, "a", 1000)).toBe(true);
    expect(await takeLock(other, key, "b", 1000)).toBe(false);
    expect(await takeLock(one, key, "a", 1000)).toBe(true);
  });
});
