import { afterEach, describe, expect, it } from "vitest";
import { RedisSpending } from "../../../../src/cluster/redis/limits/redis-spending.ts";
import type { RedisLink } from "../../../../src/cluster/redis/redis-link.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import { ExcursorError } from "../../../../src/core/errors.ts";
import { parseLimit } from "../../../../src/core/limits/limit.ts";
import { HeldClock } from "../../../../src/usage/limits/held-clock.ts";
import { type Reservation, UsageLimits } from "../../../../src/usage/limits/usage-limits.ts";
import { openUsageDatabase } from "../../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../../src/usage/store/usage-store.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const NOON = Date.UTC(2026, 10, 16, 12);

const amounts = (tokens: number) => ({ tokens, dollars: tokens });

interface Row {
  readonly tokens: number;
  readonly conversation: string;
}

/** A gateway: its limits, and its record, which knows its own requests only. */
async function openNode(redis: RedisProcess, texts: readonly string[], _nodes = 3) {
  const link: RedisLink = await openLink(redis, defer);
  const writes = new WriteBehind(link);
  const connection = await openUsageDatabase(":memory:", expect.unreachable);
  const { unsettled } = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, onNotice: expect.unreachable });
  const spending = new RedisSpending({ link, writes, unsettled });
  defer(() => {
    spending.close();
    writes.close();
  });
  const rows: Row[] = [];
  let liftedAt = 0;
  const sum = (found: readonly Row[]) => {
    const tokens = found.reduce((total, row) => total + row.tokens, 0);
    return { requests: found.length, tokens, dollars: tokens };
  };
  const limits = new UsageLimits({
    usual: () => undefined,
    limitsOf: () => texts.map((text) => parseLimit(text) ?? expect.fail(text)),
    spent: () => sum(rows),
    spentInMinute: () => sum(rows),
    spentIn: (conversation) => sum(rows.filter((row) => row.conversation === conversation)),
    costOf: (input, output) => input + output,
    // Stands still: no test crosses the end of a minute or a day.
    clock: new HeldClock(() => NOON),
    shared: spending,
    liftedAt: () => liftedAt,
  });
  const reserve = async (inputTokens = 100, conversation = "c") =>
    (await limits.reserve("key", () => ({ model: "m", driver: "d", conversation, inputTokens }))) as Reservation;
  return {
    link,
    rows,
    reserve,
    /** Stores the record of a request, and then releases it, as gateways do. */
    end(reservation: Reservation, tokens: number, conversation = "c") {
      rows.push({ tokens, conversation });
      reservation.release(amounts(tokens));
    },
    lift(at: number) {
      rows.length = 0;
      liftedAt = at;
    },
    settled: () => writes.settled(),
  };
}

type Node = Awaited<ReturnType<typeof openNode>>;

const errorOf = (work: Promise<unknown>): Promise<ExcursorError | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => ExcursorError.from(error),
  );

const whenUp = (link: RedisLink, isUp: boolean): Promise<void> =>
  new Promise((resolve) => {
    if (link.isUp === isUp) return resolve();
    const stop = link.onChange((now) => {
      if (now !== isUp) return;
      stop();
      resolve();
    });
  });

/** Makes requests of 100 tokens until one is refused, or so many tokens are spent. Returns what was spent. */
async function _spendAll(node: Node, most: number): Promise<number> {
  for (let spent = 0; ; spent += 100) {
    const reservation = spent < most && (await node.reserve().catch(() => false as const));
    if (!reservation) return spent;
    node.end(reservation, 100);
  }
}

/** Returns what Redis counts of the key in a day. */
const counted = async ({ link, reserve, settled }: Node, limit: number): Promise<number> => {
  await settled();
  // The error of an impossible reservation says it.
  const found = (await errorOf(reserve()))?.message.match(/has used (\d+) tokens/)?.[1];
  return found === undefined ? expect.fail(`not reached: ${limit}, ${link.isUp}`) : Number(found);
};

describe.skipIf(!hasRedis)("limits that several nodes share", () => {
  it("hold 1,000 parallel requests over three nodes to a budget, but for one reservation a node", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis, ["20000 tokens/day"])));
    let used = 0;
    let refused = 0;
    const ask = async (at: number) => {
      const node = nodes[at % nodes.length] as Node;
      try {
        const reservation = await node.reserve();
        // The answer grows beyond what was estimated, and is ended when nothing is left.
        let output = 0;
        try {
          for (; output < 400; output += 20) {
            reservation.grow(100, output);
            await new Promise(setImmediate);
          }
        } finally {
          used += 100 + output;
          node.end(reservation, 100 + output);
        }
      } catch {
        refused++;
      }
    };
    for (let wave = 0; wave < 10; wave++) {
      await Promise.all(Array.from({ length: 100 }, (_value, at) => ask(at)));
      // Until Redis has counted what was used, the whole reservation of a request counts.
      await Promise.all(nodes.map(({ settled }) => settled()));
    }
    expect(refused).toBeGreaterThan(0);
    // At first a request reserves a tenth of the limit, and is refused when less than that is left.
    expect(used).toBeGreaterThan(20_000 - 2000);
    expect(used).toBeLessThanOrEqual(20_000 + 3 * 2000);
  });

  it("count what each node has spent, once, and each conversation by itself", async () => {
    const redis = await startRedis(defer);
    const limits = ["1000 tokens/day", "600 tokens/conversation"];
    const [one, other] = [await openNode(redis, limits), await openNode(redis, limits)];
    one.end(await one.reserve(100, "a"), 600, "a");
    await one.settled();
    expect((await errorOf(other.reserve(100, "a")))?.message).toContain("600 tokens in a conversation");
    other.end(await other.reserve(100, "b"), 400, "b");
    await other.settled();
    for (const node of [one, other]) {
      expect((await errorOf(node.reserve(100, "new")))?.message).toContain("has used 1000 tokens");
    }
  });

  it("of a minute refuse what comes next on any node, and end no answer", async () => {
    const redis = await startRedis(defer);
    const limits = ["1000 tokens/minute", "100000 tokens/day"];
    const [one, other] = [await openNode(redis, limits), await openNode(redis, limits)];
    const long = await one.reserve();
    for (let output = 100; output <= 5000; output += 100) {
      expect(() => long.grow(100, output)).not.toThrow();
      await one.settled();
    }
    one.end(long, 5100);
    await one.settled();
    expect(await errorOf(other.reserve())).toMatchObject({ kind: "rate-limited", code: "tokens_per_minute" });
  });

  it("free what was set aside when a request ends, and what its correction takes back", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    const first = await one.reserve(1000);
    expect((await errorOf(other.reserve()))?.code).toBe("limit_reserved");
    one.end(first, 1000);
    await one.settled();
    expect((await errorOf(other.reserve()))?.kind).toBe("quota-exhausted");
    first.correct(amounts(-500));
    await one.settled();
    expect(await other.reserve()).toBeDefined();
  });

  it("never have less than nothing set aside, also if Redis has lost the sum", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    const lost = await one.reserve(500);
    await one.link.ask(
      async (client) => client.del(await client.keys(one.link.key("spend:*"))),
      () => expect.unreachable("Redis is away"),
    );
    one.end(lost, 0);
    await one.settled();
    expect(await other.reserve(1000)).toBeDefined();
    expect((await errorOf(one.reserve()))?.code).toBe("limit_reserved");
  });

  it("follow a node on which they were lifted", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    one.end(await one.reserve(), 1000);
    await one.settled();
    expect((await errorOf(other.reserve()))?.kind).toBe("quota-exhausted");
    one.lift(Date.now());
    one.end(await one.reserve(), 10);
    await one.settled();
    other.end(await other.reserve(), 10);
  });

  it("are seeded from the record when Redis comes back empty, and nothing is counted twice", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    one.end(await one.reserve(), 400);
    await one.settled();
    // The rows of the other nodes arrive through the usage stream.
    other.rows.push({ tokens: 400, conversation: "c" });
    const open = await one.reserve();
    await redis.kill();
    await whenUp(one.link, false);
    one.end(open, 100);
    await redis.restart();
    await Promise.all([whenUp(one.link, true), whenUp(other.link, true)]);
    other.end(await other.reserve(), 500);
    await other.settled();
    expect(await counted(one, 1000)).toBe(1000);
    expect(await counted(other, 1000)).toBe(1000);
  });
});
