import { afterEach, describe, expect, it } from "vitest";
import { RedisCounts } from "../../../../src/cluster/redis/limits/redis-counts.ts";
import { RedisRequestCounter } from "../../../../src/cluster/redis/limits/redis-request-counter.ts";
import type { RedisLink } from "../../../../src/cluster/redis/redis-link.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import { ExcursorError } from "../../../../src/core/errors.ts";
import { parseLimit } from "../../../../src/core/limits/limit.ts";
import { RequestRate } from "../../../../src/server/gate/request-rate.ts";
import { HeldClock } from "../../../../src/usage/limits/held-clock.ts";
import { type Reservation, UsageLimits } from "../../../../src/usage/limits/usage-limits.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const amounts = (tokens: number) => ({ tokens, dollars: tokens });

interface Row {
  readonly tokens: number;
  readonly conversation: string;
}

/** A link whose replies are lost when the test says so: the commands have their effect. */
function losingReplies(link: RedisLink) {
  const state = { isLosing: false };
  const ask: RedisLink["ask"] = async (work, fallback) => {
    const reply = await link.ask(work, fallback);
    return state.isLosing ? fallback("late") : reply;
  };
  const slow: RedisLink = { ...bound(link), ask };
  return { state, slow };
}

const bound = (link: RedisLink): RedisLink => ({
  isUp: true,
  failures: 0,
  backForMs: Number.POSITIVE_INFINITY,
  ask: (...given) => link.ask(...given),
  onChange: (...given) => link.onChange(...given),
  tell: (news) => link.tell(news),
  onNews: () => {},
  reportDamaged: (kind) => link.reportDamaged(kind),
  key: (...parts) => link.key(...parts),
  close: () => {},
});

/** A gateway: its limits, and its record, which knows its own requests only. */
async function openNode(redis: RedisProcess, texts: readonly string[]) {
  const link = await openLink(redis, defer);
  const { state, slow } = losingReplies(link);
  const writes = new WriteBehind(link);
  const counts = new RedisCounts({ link: slow, writes });
  defer(() => {
    counts.close();
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
    clock: new HeldClock(),
    shared: counts,
    liftedAt: () => liftedAt,
  });
  const reserve = async (inputTokens = 100, conversation = "c") =>
    (await limits.reserve("key", () => ({ model: "m", driver: "d", conversation, inputTokens }))) as Reservation;
  return {
    link,
    reserve,
    /** Whether replies to claims are lost. */
    state,
    /** Stores the record of a request, and then releases it, as gateways do. */
    end(reservation: Reservation, tokens: number, conversation = "c") {
      rows.push({ tokens, conversation });
      reservation.release(amounts(tokens), conversation);
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

const whenUp = (link: RedisLink, isUp: boolean) => expect.poll(() => link.isUp).toBe(isUp);

/** Makes requests of 100 tokens until one is refused, or so many tokens are spent. Returns what was spent. */
async function spendAll(node: Node, most: number): Promise<number> {
  for (let spent = 0; ; spent += 100) {
    const reservation = spent < most && (await node.reserve().catch(() => false as const));
    if (!reservation) return spent;
    node.end(reservation, 100);
  }
}

/** Makes an answer that grows until it is ended. Returns what it has used. */
async function answerUntilEnded(node: Node, most: number): Promise<number> {
  const reservation = await node.reserve();
  let output = 0;
  try {
    for (; output < most; output += 20) {
      reservation.grow(100, output);
      await new Promise(setImmediate);
    }
  } catch {}
  node.end(reservation, 100 + output);
  return 100 + output;
}

describe.skipIf(!hasRedis)("limits that several gateways share", () => {
  it("hold 1,000 parallel requests over three gateways to a budget within a tenth", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis, ["20000 tokens/day"])));
    let used = 0;
    let refused = 0;
    const ask = (at: number) =>
      answerUntilEnded(nodes[at % 3] as Node, 400).then(
        (tokens) => {
          used += tokens;
        },
        () => {
          refused++;
        },
      );
    for (let wave = 0; wave < 10; wave++) {
      await Promise.all(Array.from({ length: 100 }, (_value, at) => ask(at)));
      await Promise.all(nodes.map(({ settled }) => settled()));
    }
    expect(refused).toBeGreaterThan(0);
    expect(used).toBeGreaterThan(20_000 - 2000);
    expect(used).toBeLessThanOrEqual(20_000 * 1.1);
  });

  it("end one long answer on each gateway when the budget is used up", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis, ["200000 tokens/day"])));
    const answers = await Promise.all(nodes.map((node) => answerUntilEnded(node, 600_000)));
    const used = answers.reduce((sum, one) => sum + one);
    expect(used).toBeGreaterThan(150_000);
    expect(used).toBeLessThanOrEqual(200_000 * 1.1);
  });

  it("count what each gateway has spent, once, and each conversation by itself", async () => {
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

  it("are not locked by what Redis set aside in replies that were lost", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    one.state.isLosing = true;
    const first = await one.reserve(600);
    const second = await one.reserve(600);
    // What is counted here leaves no room.
    expect((await errorOf(one.reserve(600)))?.code).toBe("limit_reserved");
    expect((await errorOf(other.reserve(600)))?.code).toBe("limit_reserved");
    one.end(first, 100);
    one.end(second, 100);
    await one.settled();
    expect(await spendAll(other, 5000)).toBe(800);
  });

  it("are not locked by a request that others leave no room for", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    const all = await other.reserve(1000);
    const refused = await Promise.all(Array.from({ length: 20 }, () => errorOf(one.reserve(600))));
    expect(new Set(refused.map((error) => error?.code))).toEqual(new Set(["limit_reserved"]));
    other.end(all, 100);
    await Promise.all([one.settled(), other.settled()]);
    expect(await spendAll(other, 5000)).toBe(900);
  });

  it("count here what Redis has forgotten", async () => {
    const redis = await startRedis(defer);
    const one = await openNode(redis, ["1000 tokens/day"]);
    expect(await spendAll(one, 500)).toBe(500);
    await one.settled();
    await redis.kill();
    await whenUp(one.link, false);
    await redis.restart();
    await whenUp(one.link, true);
    expect(await spendAll(one, 5000)).toBe(500);
  });

  it("are passed at most once for each gateway while Redis is away (REL-45)", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    expect(await spendAll(one, 300)).toBe(300);
    await redis.kill();
    await Promise.all([whenUp(one.link, false), whenUp(other.link, false)]);
    expect([await spendAll(one, 5000), await spendAll(other, 5000)]).toEqual([700, 1000]);
    await redis.restart();
    await Promise.all([whenUp(one.link, true), whenUp(other.link, true)]);
    expect((await errorOf(one.reserve()))?.kind).toBe("quota-exhausted");
  });

  it("free what a gateway that is gone had set aside", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis, ["1000 tokens/day"]), await openNode(redis, ["1000 tokens/day"])];
    await one.reserve(1000);
    expect((await errorOf(other.reserve()))?.code).toBe("limit_reserved");
    await changeAll(other.link, (value) => value.replace(/\d+$/, "1"));
    expect(await other.reserve()).toBeDefined();
  });

  it("go on after damaged figures of another gateway (SEC-36)", async () => {
    const redis = await startRedis(defer);
    const one = await openNode(redis, ["1000 tokens/day"]);
    one.end(await one.reserve(), 100);
    await one.settled();
    await changeAll(one.link, (value) => value, { damaged: "-1000000", old: "x y z", future: "5 5 5 5" });
    expect(await spendAll(one, 5000)).toBe(900);
  });

  it("begin anew when they are lifted", async () => {
    const redis = await startRedis(defer);
    const one = await openNode(redis, ["1000 tokens/day"]);
    expect(await spendAll(one, 5000)).toBe(1000);
    one.lift(Date.now());
    expect(await spendAll(one, 5000)).toBe(1000);
  });
});

/** Changes the figures of all gateways in Redis. */
const changeAll = (link: RedisLink, change: (value: string) => string, more: Readonly<Record<string, string>> = {}) =>
  link.ask(
    async (client) => {
      for (const key of await client.keys(link.key("count", "*"))) {
        const figures = Object.entries(await client.hGetAll(key)).map(([name, value]) => [name, change(value)]);
        await client.hSet(key, { ...Object.fromEntries(figures), ...more });
      }
    },
    () => expect.unreachable("Redis is away"),
  );

describe.skipIf(!hasRedis)("the requests of a minute", () => {
  const open = async (redis: RedisProcess, limit: number) => {
    const link = await openLink(redis, defer);
    const rate = new RequestRate((id) => (id === "limited" ? limit : undefined), new RedisRequestCounter(link));
    const isAdmitted = async (id = "limited") => (await errorOf((async () => rate.admit(id))())) === undefined;
    return { link, isAdmitted };
  };
  const count = async (works: readonly Promise<boolean>[]) => (await Promise.all(works)).filter(Boolean).length;

  it("are counted together", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => open(redis, 10)));
    const asked = Array.from({ length: 60 }, (_value, at) => nodes[at % 3]?.isAdmitted() ?? Promise.resolve(false));
    expect(await count(asked)).toBe(10);
    expect(await nodes[0]?.isAdmitted("other")).toBe(true);
  });

  it("that Redis has counted count here, too, when it is gone (REL-45)", async () => {
    const redis = await startRedis(defer);
    const { isAdmitted, link } = await open(redis, 10);
    expect(await count(Array.from({ length: 6 }, () => isAdmitted()))).toBe(6);
    await redis.kill();
    await whenUp(link, false);
    expect(await count(Array.from({ length: 20 }, () => isAdmitted()))).toBe(4);
  });
});
