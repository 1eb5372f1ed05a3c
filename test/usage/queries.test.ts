import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chargesByConversation } from "../../src/usage/queries/conversation-charges.ts";
import { listConversations, listTurns } from "../../src/usage/queries/conversations.ts";
import { limitUse } from "../../src/usage/queries/limit-use.ts";
import { readSeries, seriesMoments } from "../../src/usage/queries/usage-series.ts";
import { reportCharges } from "../../src/usage/reports/charge-report.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { aCall, aCharge, aRecord, aRun } from "./support.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const MINUTE = 60_000;

let store: UsageStore;
let connection: DatabaseSync;

beforeEach(async () => {
  connection = await openUsageDatabase(":memory:", () => {});
  store = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, now: () => NOON, onNotice: () => {} });
});

afterEach(() => store.close());

describe("conversations", () => {
  it("are listed by their latest turn, with the sums of all their turns", () => {
    const cost = { micros: 250, isEstimate: true, source: "settings" };
    store.request(aRecord({ conversation: "a", startedAt: NOON, cost }));
    store.request(aRecord({ conversation: "b", startedAt: NOON + 1, status: 429, usage: undefined }));
    store.request(aRecord({ conversation: "a", startedAt: NOON + 2, cost, client: "codex", modelServed: "gpt-5.5" }));
    store.request(aRecord({ conversation: undefined, startedAt: NOON + 3 }));
    store.flush();
    const { conversations, next } = listConversations(connection, 10);
    expect(next).toBeNull();
    expect(conversations).toEqual([
      {
        id: "a",
        keyName: "owner",
        client: "codex",
        model: "gpt-5.5",
        turns: 2,
        errors: 0,
        inputTokens: 200,
        outputTokens: 40,
        cachedTokens: 120,
        costMicros: 500,
        isCostEstimated: true,
        charges: null,
        firstAt: NOON,
        lastAt: NOON + 2,
      },
      expect.objectContaining({
        id: "b",
        turns: 1,
        errors: 1,
        inputTokens: 0,
        costMicros: null,
        isCostEstimated: false,
      }),
    ]);
  });

  it("have what Cursor has billed, each charge in one conversation only, and read no other's rows", () => {
    const run = (id: string, conversation: string, upstreamConversation: string | undefined) =>
      store.run(aRun({ id, conversation, upstreamConversation, startedAt: NOON }));
    for (const conversation of ["a", "b", "c"]) store.request(aRecord({ conversation, startedAt: NOON }));
    run("1", "a", "one");
    run("2", "a", "two");
    run("3", "a", "two");
    // A turn without an answer has another id than the conversation that it begins.
    run("4", "b", "two");
    run("5", "b", "three");
    run("6", "c", undefined);
    store.flush();
    const charge = (conversationId: string, costMicros: number) => aCharge({ conversationId, costMicros, at: NOON });
    const all = [charge("one", 1), charge("two", 2), charge("two", 4), charge("three", 8), charge("", 16)];
    store.setCharges("account", { fromMs: 0, untilMs: NOON + 1 }, all);
    const charges = Object.fromEntries(
      listConversations(connection, 10).conversations.map((row) => [row.id, row.charges]),
    );
    expect(charges).toEqual({
      a: { costMicros: 7, chargedMicros: 3 },
      b: { costMicros: 8, chargedMicros: 1 },
      c: null,
    });
    const { conversations } = reportCharges(connection, { fromMs: 0, untilMs: NOON + 1 });
    expect([...conversations].map(([id, { costMicros }]) => [id, costMicros])).toEqual([
      ["a", 7],
      ["b", 8],
    ]);
    const prepare = vi.spyOn(connection, "prepare");
    chargesByConversation(connection);
    reportCharges(connection, { fromMs: 0, untilMs: NOON + 1 });
    const queries = prepare.mock.calls.map(([sql]) => sql);
    expect(queries).toHaveLength(3);
    const plans = queries.flatMap((sql) => connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
    expect(plans.map(({ detail }) => detail).filter((detail) => String(detail).startsWith("SCAN"))).toEqual([]);
  });

  it("are paged without a gap and without a repetition", () => {
    for (let n = 0; n < 25; n++) store.request(aRecord({ conversation: `c${n % 10}`, startedAt: NOON + n }));
    store.flush();
    const seen: string[] = [];
    let before: number | undefined;
    do {
      const page = listConversations(connection, 3, before);
      seen.push(...page.conversations.map(({ id }) => id));
      before = page.next ?? undefined;
    } while (before !== undefined);
    expect(seen).toEqual(["c4", "c3", "c2", "c1", "c0", "c9", "c8", "c7", "c6", "c5"]);
  });

  it("have turns with the phases, the run and the calls of each request", () => {
    const phases = { gate: 0.4, "first-frame": 800, model: 0, park: 5000 };
    const cache = { possibleTokens: 90, actualTokens: 60, reason: "tools" as const };
    const run = { type: "replayed", reason: "expired" } as const;
    store.request(aRecord({ id: "one", startedAt: NOON, phases }));
    store.request(aRecord({ id: "two", startedAt: NOON + MINUTE, phases, run, cache }));
    store.toolCall(aCall({ requestId: "one", askedAt: NOON + 2000, tool: "look" }));
    store.toolCall(aCall({ callId: "x", requestId: "one", askedAt: NOON + 2000, principalId: "key_other" }));
    store.toolCall(aCall({ callId: "y", requestId: "one", askedAt: NOON + 10 * MINUTE }));
    store.flush();
    const { turns, next } = listTurns(connection, "abcdefghijklmnop", 1);
    expect(turns).toEqual([
      expect.objectContaining({
        requestId: "two",
        phases,
        run: "replayed",
        runReason: "expired",
        cachePossible: 90,
        cachedTokens: 60,
        cacheReason: "tools",
        toolCalls: [],
      }),
    ]);
    const [first] = listTurns(connection, "abcdefghijklmnop", 1, next ?? 0).turns;
    expect(first).toMatchObject({ requestId: "one", startedAt: NOON });
    expect(first?.toolCalls.map(({ tool, askedAt }) => [tool, askedAt])).toEqual([["look", NOON + 2000]]);
  });
});

describe("series", () => {
  it("have the sums of each part, and no request twice", async () => {
    store.request(aRecord({ startedAt: NOON - MINUTE, firstTokenMs: 100 }));
    store.request(aRecord({ startedAt: NOON - MINUTE + 1, firstTokenMs: 300, status: 500 }));
    store.request(
      aRecord({ startedAt: NOON, firstTokenMs: undefined, cost: { micros: 7, isEstimate: false, source: "" } }),
    );
    store.flush();
    const points = await readSeries(connection, [NOON - MINUTE, NOON, NOON + MINUTE]);
    expect(points).toEqual([
      {
        at: NOON - MINUTE,
        requests: 2,
        errors: 1,
        inputTokens: 200,
        outputTokens: 40,
        firstTokenMs: 200,
        costMicros: 0,
      },
      { at: NOON, requests: 1, errors: 0, inputTokens: 100, outputTokens: 20, firstTokenMs: null, costMicros: 7 },
    ]);
  });

  it.each([
    ["hour", 60],
    ["day", 96],
    ["month", 31],
  ] as const)("of a %s end after now and have %i parts", (range, parts) => {
    const now = Date.UTC(2026, 2, 30, 15, 7, 30);
    const moments = seriesMoments(range, now);
    expect(moments).toHaveLength(parts + 1);
    expect(moments.every((moment, index) => index === 0 || moment > (moments[index - 1] ?? 0))).toBe(true);
    expect(moments.at(-2)).toBeLessThanOrEqual(now);
    expect(moments.at(-1)).toBeGreaterThan(now);
  });
});

describe("the use of a limit", () => {
  const store = {
    spent: (_: string, fromMs: number, untilMs: number) => ({
      requests: 1,
      tokens: untilMs - fromMs,
      dollars: fromMs === 0 ? 99 : 5,
    }),
    spentInMinute: (_: string, fromMs: number) => ({ requests: 1, tokens: fromMs - NOON, dollars: 0 }),
  };
  const DAY = 24 * 60 * MINUTE;
  const midnight = NOON - (NOON % DAY);

  it.each([
    ["500 tokens/minute", { unit: "tokens", amount: 500, used: MINUTE, resetsAtMs: NOON + 2 * MINUTE }],
    ["500 tokens/day", { unit: "tokens", amount: 500, used: DAY, resetsAtMs: midnight + DAY }],
    ["$5/total", { unit: "dollars", amount: 5_000_000, used: 99, resetsAtMs: undefined }],
    ["$1/conversation", { unit: "dollars", amount: 1_000_000, used: undefined, resetsAtMs: undefined }],
    ["60 requests/minute", { unit: "requests", amount: 60, used: undefined, resetsAtMs: undefined }],
  ])("%s is counted in its own window", (limit, use) => {
    expect(limitUse(limit, "k", store, NOON + MINUTE + 1)).toEqual({ limit, ...use });
  });

  it("is unknown for a text that is no limit", () => {
    expect(limitUse("much", "k", store, NOON)).toBeUndefined();
  });
});
