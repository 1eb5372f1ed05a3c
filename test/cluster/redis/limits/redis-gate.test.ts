import { afterEach, describe, expect, it } from "vitest";
import { RedisGate } from "../../../../src/cluster/redis/limits/redis-gate.ts";
import { RequestRate } from "../../../../src/server/gate/request-rate.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

async function openNode(redis: RedisProcess, limit: number) {
  const link = await openLink(redis, defer);
  const gate = new RedisGate(link);
  const limitOf = (id: string) => (id === "limited" ? limit : undefined);
  return {
    link,
    rate: new RequestRate(limitOf, undefined, gate),
  };
}

const isAdmitted = (work: () => unknown): Promise<boolean> =>
  Promise.resolve()
    .then(work)
    .then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ status: 429 });
        return false;
      },
    );

const count = async (works: readonly Promise<boolean>[]): Promise<number> =>
  (await Promise.all(works)).filter((admitted) => admitted).length;

describe.skipIf(!hasRedis)("the gate of several nodes", () => {
  it("counts the requests of a minute together", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis, 10)));
    const asked = Array.from({ length: 30 }, (_value, at) => isAdmitted(() => nodes[at % 3]?.rate.admit("limited")));
    expect(await count(asked)).toBe(10);
    expect(await isAdmitted(() => nodes[0]?.rate.admit("other"))).toBe(true);
  });

  it("lets each gateway count alone while Redis is away (REL-45)", async () => {
    const redis = await startRedis(defer);
    const { rate, link } = await openNode(redis, 9);
    await redis.kill();
    const rates = Array.from({ length: 20 }, () => isAdmitted(() => rate.admit("limited")));
    expect(await count(rates)).toBe(9);
    expect(link.isUp).toBe(false);
  });
});
