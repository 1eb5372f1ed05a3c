import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { createSharedCheckpoints } from "../../../../src/cluster/redis/stores/shared-checkpoints.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import { createCheckpointStore } from "../../../../src/state/checkpoint-store.ts";
import { openStateDatabase } from "../../../../src/state/state-database.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

describe.skipIf(!hasRedis)("checkpoints in Redis", () => {
  it("have each blob sent once, also if the conversation goes on at another gateway", async () => {
    const redis = await startRedis(defer);
    const open = async () => {
      const link = await openLink(redis, defer);
      const state = await openStateDatabase(":memory:");
      const writes = new WriteBehind(link);
      defer(() => state.close());
      defer(() => writes.close());
      const parts = { link, writes, scope: "sim", redisMs: 50 };
      return { link, writes, checkpoints: createSharedCheckpoints(parts, createCheckpointStore(state)) };
    };
    const [one, other] = [await open(), await open()];
    const received = () =>
      other.link.ask(
        async (client) => Number(/total_net_input_bytes:(\d+)/.exec(await client.info("stats"))?.[1]),
        () => Number.NaN,
      );
    const [old, fresh] = [randomBytes(500_000), randomBytes(1000)];
    const state = randomBytes(100);
    one.checkpoints.put("p", "first", { conversationId: "c", state, blobs: new Map([["old", old]]) });
    await one.writes.settled();
    expect((await other.checkpoints.find("p", "first"))?.blobs.get("old")).toHaveLength(old.length);
    const before = await received();
    const blobs = new Map([
      ["old", old],
      ["fresh", fresh],
    ]);
    other.checkpoints.put("p", "second", { conversationId: "c", state, blobs });
    await other.writes.settled();
    expect((await received()) - before).toBeLessThan(old.length / 2);
    const third = await open();
    expect([...((await third.checkpoints.find("p", "second"))?.blobs.keys() ?? [])].sort()).toEqual(["fresh", "old"]);
  });
});
