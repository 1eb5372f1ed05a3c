import { afterEach, describe, expect, it } from "vitest";
import type { RedisLink } from "../../../../src/cluster/redis/redis-link.ts";
import { createSharedHubAnswers } from "../../../../src/cluster/redis/stores/shared-hub-answers.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import { createHubAnswerStore } from "../../../../src/state/hub-answer-store.ts";
import { openStateDatabase } from "../../../../src/state/state-database.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const PLACE = { principalId: "p", id: "i", askedKey: "a" };
const round = (text: string) => ({
  said: { role: "assistant" as const, content: [{ type: "text" as const, text }] },
  results: [],
});

describe.skipIf(!hasRedis)("answers of the hub in Redis", () => {
  it("all expire (SEC-36)", async () => {
    const link = await openLink(await startRedis(defer), defer);
    const state = await openStateDatabase(":memory:");
    const writes = new WriteBehind(link);
    defer(() => state.close());
    defer(() => writes.close());
    const answers = createSharedHubAnswers({ link, writes, scope: "sim", redisMs: 50 }, createHubAnswerStore(state));
    expect(await answers.beginRound(PLACE, 0, round("hm"))).toBe(true);
    answers.putRound(PLACE, 0, round("hm"));
    await answers.putEnd(PLACE, { text: "end", reason: "stop" }, "history");
    await writes.settled();
    const lives = await link.ask(
      async (client) => Promise.all((await client.keys(link.key("sim:*"))).map((key) => client.pTTL(key))),
      () => [],
    );
    expect(lives.length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...lives)).toBeGreaterThan(0);
  });

  it("are begun once also if the reply to the claim of a round is late", async () => {
    const link = await openLink(await startRedis(defer), defer);
    const state = await openStateDatabase(":memory:");
    defer(() => state.close());
    const open = (own: RedisLink) => {
      const writes = new WriteBehind(own);
      defer(() => writes.close());
      return createSharedHubAnswers({ link: own, writes, scope: "sim", redisMs: 50 }, createHubAnswerStore(state));
    };
    let late = 1;
    // The command has its effect; only the reply is lost.
    const ask: RedisLink["ask"] = async (work, fallback) => {
      const reply = await link.ask(work, fallback);
      return late-- > 0 ? fallback("late") : reply;
    };
    const slow: RedisLink = {
      isUp: true,
      failures: 0,
      backForMs: Number.POSITIVE_INFINITY,
      ask,
      tell: () => {},
      onNews: () => {},
      reportDamaged: () => {},
      onChange: () => () => {},
      key: (...parts) => link.key(...parts),
      close: () => {},
    };
    const one = open(slow);
    expect(await one.beginRound(PLACE, 0, round("hm"))).toBe(true);
    expect(late).toBeLessThan(0);
    expect(await open(link).beginRound(PLACE, 0, round("hm"))).toBe(false);
    one.leave(PLACE, true);
  });
});
