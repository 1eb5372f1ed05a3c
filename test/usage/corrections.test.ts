import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Usage } from "../../src/core/events.ts";
import { createRequestMetrics } from "../../src/metrics/request-metrics.ts";
import { liftLimits } from "../../src/usage/limits/lift-limits.ts";
import type { RequestRecord } from "../../src/usage/record/records.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { aRecord, aRun } from "./support.ts";

const used = (inputTokens: number, outputTokens: number, isEstimate: boolean): Usage => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate,
});

const estimated = (over: Partial<RequestRecord> = {}): RequestRecord =>
  aRecord({ usage: used(100, 20, true), usageOrigin: "estimate", ...over });

const exact = (record: RequestRecord): RequestRecord => ({
  ...record,
  usage: used(150, 5, false),
  usageOrigin: "upstream",
  cost: { micros: 70, isEstimate: true, source: "settings" },
});

async function setUp() {
  const connection = await openUsageDatabase(":memory:", () => {});
  const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e12, onNotice: () => {} });
  const rows = () => connection.prepare("SELECT id, input, output, origin, cost_micros FROM request ORDER BY at").all();
  const spent = () => store.spent("owner", 0, 2 ** 42);
  return { connection, store, rows, spent };
}

describe("a correction of the usage record", () => {
  it.each(["before", "after"])(
    "replaces the figures of a request, %s they are written, and counts once",
    async (when) => {
      const { store, rows, spent } = await setUp();
      const before = estimated();
      const after = exact(before);
      store.request(before);
      if (when === "after") store.flush();
      store.corrected(after, before);
      expect(spent()).toMatchObject({ requests: 1, tokens: 155, dollars: 70 });
      const inConversation = store.spentIn(before.conversation ?? "", "owner");
      expect(inConversation).toMatchObject({ requests: 1, tokens: 155, dollars: 70 });
      store.flush();
      store.flush();
      expect(rows()).toEqual([{ id: before.id, input: 150, output: 5, origin: "upstream", cost_micros: 70 }]);
      expect(spent()).toMatchObject({ requests: 1, tokens: 155, dollars: 70 });
    },
  );

  it("changes one request only, also if clients use an id twice in a millisecond", async () => {
    const { store, rows, spent } = await setUp();
    const [one, two] = [estimated(), estimated()];
    store.request(one);
    store.request(two);
    store.flush();
    store.corrected(exact(two), two);
    store.flush();
    expect(rows().map(({ input }) => input)).toEqual(expect.arrayContaining([100, 150]));
    store.corrected(exact(one), one);
    store.flush();
    expect(rows().map(({ input }) => input)).toEqual([150, 150]);
    expect(spent()).toMatchObject({ requests: 2, tokens: 310 });
  });

  it("of a request from before the limits were lifted does not count", async () => {
    const { connection, store, spent } = await setUp();
    const before = estimated();
    const later = estimated({ startedAt: before.startedAt + 10 });
    store.request(before);
    store.flush();
    liftLimits(connection, "owner", before.startedAt + 5);
    store.request(later);
    store.flush();
    store.corrected(exact(before), before);
    expect(spent().tokens).toBe(120);
    store.flush();
    expect(spent().tokens).toBe(120);
  });

  it("follows another one", async () => {
    const { store, rows } = await setUp();
    const first = estimated();
    const second = { ...first, usage: used(300, 20, true) };
    store.request(first);
    store.flush();
    store.corrected(second, first);
    store.corrected(exact(second), second);
    store.flush();
    expect(rows()).toMatchObject([{ input: 150, output: 5 }]);
  });

  it("gives usage to a request that had none", async () => {
    const { store, rows, spent } = await setUp();
    const failed = estimated({ usage: undefined, usageOrigin: undefined, run: undefined });
    store.request(failed);
    store.flush();
    store.corrected({ ...exact(failed), run: { type: "fresh" } }, failed);
    store.flush();
    expect(rows()).toMatchObject([{ input: 150, output: 5 }]);
    expect(spent()).toMatchObject({ requests: 1, tokens: 155 });
  });

  it("never makes a counter fall", async () => {
    const register = new Registry();
    const metrics = createRequestMetrics(register);
    const tokens = async (kind: string) =>
      Number(new RegExp(`excursor_tokens_total\\{.*kind="${kind}".*\\} (\\d+)`).exec(await register.metrics())?.[1]);
    const before = estimated();
    metrics.request(before);
    metrics.corrected?.(exact(before), before);
    expect([await tokens("input"), await tokens("output")]).toEqual([150, 20]);
    metrics.request(estimated());
    expect([await tokens("input"), await tokens("output")]).toEqual([250, 25]);
  });
});

describe("runs in the store", () => {
  it("have one row each, with their last state", async () => {
    const { connection, store } = await setUp();
    store.run(aRun());
    store.run(aRun({ id: "run-2" }));
    store.flush();
    store.run(aRun({ id: "run-2", outcome: "failed" }));
    store.run(aRun({ outcome: "completed", requestIds: ["a", "b"], usage: used(5, 6, false) }));
    store.flush();
    const rows = connection.prepare("SELECT id, requests, outcome, input FROM run ORDER BY id").all();
    expect(rows).toEqual([
      { id: "run-1", requests: "a,b", outcome: "completed", input: 5 },
      { id: "run-2", requests: "a", outcome: "failed", input: 1 },
    ]);
  });
});
