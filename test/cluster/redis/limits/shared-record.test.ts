import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { RedisSpending } from "../../../../src/cluster/redis/limits/redis-spending.ts";
import type { RedisLink } from "../../../../src/cluster/redis/redis-link.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import type { SpendRequest } from "../../../../src/usage/limits/shared-spending.ts";
import { openUsageDatabase } from "../../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../../src/usage/store/usage-store.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { aRecord } from "../../../usage/support.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const HOUR_MS = 3_600_000;
const NOTHING = { tokens: 0, dollars: 0 };

/** A link to a Redis that is away for this gateway when the test says so. */
function breakable(link: RedisLink) {
  const listeners = new Set<(isUp: boolean) => void>();
  let isUp = true;
  const change = (now: boolean) => {
    isUp = now;
    for (const listener of listeners) listener(now);
  };
  const ask: RedisLink["ask"] = async (work, fallback) => (isUp ? link.ask(work, fallback) : fallback("away"));
  const broken: RedisLink = {
    get isUp() {
      return isUp;
    },
    failures: 0,
    ask,
    tell: () => {},
    onNews: () => {},
    reportDamaged: () => {},
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    key: (...parts) => link.key(...parts),
    close: () => link.close(),
  };
  return { broken, change };
}

/** A gateway of a host on which several have one home folder, and so one usage record. */
async function openNode(redis: RedisProcess, home: string) {
  const { broken: link, change } = breakable(await openLink(redis, defer));
  const writes = new WriteBehind(link);
  const connection = await openUsageDatabase(join(home, "usage.db"), expect.unreachable);
  const store = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, onNotice: expect.unreachable });
  const spending = new RedisSpending({ link, writes, unsettled: store.unsettled });
  defer(() => {
    spending.close();
    writes.close();
    store.close();
  });
  const fromMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const ask = (): SpendRequest => ({
    id: randomUUID(),
    principalId: "alice",
    conversation: "c",
    liftedAt: 0,
    claims: [
      {
        unit: "tokens",
        window: "day",
        fromMs,
        amount: 1e6,
        seed: () => store.spent("alice", fromMs, fromMs + HOUR_MS).tokens,
      },
    ],
  });
  return {
    leave: () => change(false),
    comeBack: () => change(true),
    store,
    settled: () => writes.settled(),
    /** Stores the record of a request with 120 tokens, and then settles it, as gateways do. */
    spend() {
      store.request(aRecord({ id: randomUUID(), principalId: "alice", startedAt: Date.now() }));
      spending.settle(ask(), { ...NOTHING, tokens: 120 });
    },
    /** Returns what the cluster has counted. */
    async counted(): Promise<number | undefined> {
      const verdict = await spending.reserve(ask(), NOTHING);
      return verdict?.type === "held" ? verdict.spent[0] : undefined;
    },
    rows: () => Number(connection.prepare("SELECT count(*) AS count FROM unsettled").get()?.["count"]),
  };
}

describe.skipIf(!hasRedis)("gateways with one usage record", () => {
  async function setUp() {
    const redis = await startRedis(defer);
    const home = mkdtempSync(join(tmpdir(), "excursor-record-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    const [one, other] = [await openNode(redis, home), await openNode(redis, home)];
    one.spend();
    await one.settled();
    one.store.flush();
    for (const node of [one, other]) node.leave();
    return { redis, home, one, other };
  }

  it.each([
    ["with what it knew", async () => {}],
    [
      "empty",
      async (redis: RedisProcess) => {
        await redis.kill();
        await redis.restart();
      },
    ],
  ])("count what one has spent without Redis once, when that comes back %s (REL-45)", async (_, lose) => {
    const { redis, one, other } = await setUp();
    one.spend();
    // The other one sees it in the common record, before the cluster is told.
    one.store.flush();
    expect([one.rows(), other.rows()]).toEqual([1, 1]);
    await lose(redis);
    other.comeBack();
    // What is counted now comes from the record of the other one.
    await expect.poll(() => other.counted()).toBeGreaterThanOrEqual(120);
    one.comeBack();
    for (const { settled } of [one, other, one]) await settled();
    expect([await one.counted(), await other.counted()]).toEqual([240, 240]);
    for (const { store } of [one, other]) store.flush();
    expect(one.rows()).toBe(0);
  });

  it("count what a gateway has spent that died before Redis came back", async () => {
    const { redis, home, one, other } = await setUp();
    other.spend();
    other.store.flush();
    // It dies: what it was to tell the cluster later is lost with its memory.
    one.comeBack();
    const next = await openNode(redis, home);
    for (const { settled } of [one, next]) await settled();
    expect([await next.counted(), await one.counted()]).toEqual([240, 240]);
  });

  it("write nothing but the records while Redis is there", async () => {
    const { one } = await setUp();
    expect(one.rows()).toBe(0);
    one.comeBack();
    expect(await one.counted()).toBe(120);
  });
});
