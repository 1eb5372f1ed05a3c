import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Usage } from "../../src/core/events.ts";
import type { RunRecord } from "../../src/usage/record/records.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { aCharge, aRecord, aRun } from "./support.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const HOUR = 3_600_000;
const FOUR = { fromMs: NOON - HOUR, untilMs: NOON + 3 * HOUR };

let store: UsageStore;
let connection: DatabaseSync;

beforeEach(async () => {
  connection = await openUsageDatabase(":memory:", () => {});
  store = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, now: () => NOON, onNotice: () => {} });
});

afterEach(() => store.close());

const usageOf = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: true,
});

/** One token costs one millionth of a dollar. */
const costOf = ({ inputTokens, outputTokens }: Usage) => ({
  micros: inputTokens + outputTokens,
  isEstimate: true,
  source: "test",
});

/** Records a run with a request for each of these estimates. */
function record(id: string, over: Partial<RunRecord>, ...parts: readonly Usage[]): void {
  const startedAt = over.startedAt ?? NOON;
  const usage = { inputTokens: 0, outputTokens: 0 };
  parts.forEach((part, index) => {
    usage.inputTokens += part.inputTokens;
    usage.outputTokens += part.outputTokens;
    const origin = over.usageOrigin ?? "estimate";
    store.request(
      aRecord({
        id: `${id}-${index}`,
        conversation: "ours",
        startedAt: startedAt + index,
        usage: part,
        usageOrigin: origin,
        cost: costOf(part),
      }),
    );
  });
  store.run(
    aRun({
      id,
      conversation: "ours",
      upstreamConversation: "theirs",
      outcome: "failed",
      requestIds: parts.map((_, index) => `${id}-${index}`),
      usage: usageOf(usage.inputTokens, usage.outputTokens),
      ...over,
      startedAt,
    }),
  );
}

function settle(
  charges: readonly { readonly conversation?: string; readonly input: number; readonly output: number }[],
) {
  const all = charges.map(({ conversation = "theirs", input, output }) =>
    aCharge({ conversationId: conversation, inputTokens: input, outputTokens: output }),
  );
  store.flush();
  store.setCharges("default", FOUR, all);
  store.settleRuns({ ...FOUR, account: "default", settledMs: NOON + HOUR, costOf });
}

const requests = () =>
  connection.prepare("SELECT id, input, output, origin, cost_micros AS micros FROM request ORDER BY id").all();
const runs = () => connection.prepare("SELECT id, input, output, origin FROM run ORDER BY id").all();

const exact = () => record("exact", { outcome: "completed", usageOrigin: "upstream" }, usageOf(1000, 50));

describe("a run that its upstream has failed", () => {
  it("gets what the upstream has charged for the conversation beyond its exact runs, with cost and spending", () => {
    exact();
    record("failed", {}, usageOf(100, 20), usageOf(300, 40));
    settle([
      { input: 1000, output: 50 },
      { input: 130, output: 5 },
    ]);
    const expected = [
      { id: "exact-0", input: 1000, output: 50, origin: "upstream", micros: 1050 },
      { id: "failed-0", input: 100, output: 20, origin: "estimate", micros: 120 },
      { id: "failed-1", input: 30, output: -15, origin: "estimate", micros: 15 },
    ];
    expect(requests()).toEqual(expected);
    expect(runs()).toEqual([
      { id: "exact", input: 1000, output: 50, origin: "upstream" },
      { id: "failed", input: 130, output: 5, origin: "upstream" },
    ]);
    const spent = { requests: 3, tokens: 1185, dollars: 1185 };
    expect(store.spent("owner", NOON, NOON + HOUR)).toMatchObject(spent);
    // Again, it changes nothing.
    settle([
      { input: 1000, output: 50 },
      { input: 130, output: 5 },
    ]);
    expect(requests()).toEqual(expected);
    expect(store.spent("owner", NOON, NOON + HOUR)).toMatchObject(spent);
  });

  it("has cost nothing if nothing is charged for it, and its only request has exact figures then", () => {
    exact();
    record("failed", { upstreamConversation: "other" }, usageOf(100, 20));
    settle([{ input: 1000, output: 50 }]);
    expect(requests()[1]).toEqual({ id: "failed-0", input: 0, output: 0, origin: "upstream", micros: 0 });
  });

  it("gives the difference to its last request that was recorded", () => {
    exact();
    record("failed", { requestIds: ["failed-0", "lost"] }, usageOf(100, 20));
    settle([{ input: 1010, output: 51 }]);
    expect(requests()[1]).toMatchObject({ id: "failed-0", input: 10, output: 1, origin: "upstream" });
  });

  it("shares the rest with other such runs of its conversation: the last one gets it", () => {
    exact();
    record("failed-a", {}, usageOf(100, 20));
    record("failed-b", { startedAt: NOON + 5 }, usageOf(200, 20));
    settle([{ input: 1170, output: 60 }]);
    expect(runs().map(({ input, output }) => [input, output])).toEqual([
      [1000, 50],
      [0, 0],
      [170, 10],
    ]);
  });
});

describe("an estimate stays", () => {
  const unchanged = { input: 100, output: 20, origin: "estimate", micros: 120 };

  it("until the charges of all runs of its conversation are settled", () => {
    exact();
    record("failed", {}, usageOf(100, 20));
    record("later", { startedAt: NOON + HOUR, usageOrigin: "upstream" }, usageOf(7, 7));
    settle([{ input: 1000, output: 50 }]);
    expect(requests()[1]).toMatchObject(unchanged);
  });

  it.each([
    ["the run waits for results in this process", { outcome: "parked", startedAt: NOON + 1 }, "theirs"],
    ["another account pays", { account: "other" }, "theirs"],
    ["the upstream does not name conversations", {}, ""],
  ] as const)("if %s", (_, over, conversation) => {
    exact();
    record("failed", over, usageOf(100, 20));
    settle([{ conversation, input: 1000, output: 50 }]);
    expect(requests()[1]).toMatchObject(unchanged);
  });
});
