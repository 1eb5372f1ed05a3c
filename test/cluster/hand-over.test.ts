import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { aTurn } from "../core/support/turns.ts";
import { joinWith, openBareCluster } from "./support/bare-cluster.ts";
import { hasRedis, startRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const FOR_EVER = 600_000;

async function setUp(names: readonly string[]) {
  const redis = await startRedis(defer);
  const clusters = await Promise.all(names.map((name) => openBareCluster(redis, name, defer)));
  const engines = await Promise.all(clusters.map((cluster) => joinWith(cluster, { run: async function* () {} })));
  const [cluster] = clusters;
  const [engine] = engines;
  if (!cluster || !engine) return expect.unreachable();
  await expect.poll(() => cluster.view().nodes.length, { timeout: 10_000 }).toBe(names.length);
  const context = { requestId: "r", signal: new AbortController().signal };
  return { cluster, getTurn: () => void engine.run(aTurn(), context) };
}

describe.skipIf(!hasRedis)("a gateway that hands over", () => {
  it("goes on as long as the balancer still sends turns (REL-47)", async () => {
    const { cluster, getTurn } = await setUp(["a", "b"]);
    getTurn();
    let isOver = false;
    const handedOver = cluster.handOver(1, FOR_EVER).then(() => {
      isOver = true;
    });
    for (let turn = 0; turn < 20; turn++) {
      await wait(100);
      expect(isOver).toBe(false);
      getTurn();
    }
    await handedOver;
  });

  it("stops after the longest time, although turns still arrive", async () => {
    const { cluster, getTurn } = await setUp(["a", "b"]);
    const sending = setInterval(getTurn, 50);
    defer(() => clearInterval(sending));
    await cluster.handOver(1, 300);
  });

  it("does not wait where no other gateway is", async () => {
    const { cluster, getTurn } = await setUp(["a"]);
    const sending = setInterval(getTurn, 50);
    defer(() => clearInterval(sending));
    await cluster.handOver(FOR_EVER, FOR_EVER);
  });
});
