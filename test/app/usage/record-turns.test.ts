import { expect, it } from "vitest";
import { recordTurns } from "../../../src/app/usage/record-turns.ts";
import { createEngine } from "../../../src/core/engine/engine.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import { parseLimit } from "../../../src/core/limits/limit.ts";
import { HeldClock } from "../../../src/usage/limits/held-clock.ts";
import { UsageLimits } from "../../../src/usage/limits/usage-limits.ts";
import type { RequestRecord } from "../../../src/usage/record/records.ts";
import { UsageRecorder } from "../../../src/usage/record/usage-recorder.ts";
import { aTurn, done, gather, scriptedDriver, text, usage } from "../../core/support/turns.ts";

it("records each turn of a face without a server: answered, failed or left", async () => {
  const records: RequestRecord[] = [];
  const recorder = new UsageRecorder({
    sinks: [{ request: (record) => records.push(record), toolCall: () => {} }],
    wallClock: () => 1000,
  });
  const failure = new ExcursorError("rate-limited", "Slow down.");
  const driver = scriptedDriver([[text("hi"), usage(), done()]], [failure], [[text("hi")], [done()]]);
  const engine = createEngine({ drivers: new Map([["d", driver]]), route: () => "d" });
  const recorded = recordTurns(engine, recorder, "acp-agent");
  const ask = () => recorded.run(aTurn(), { requestId: "r", signal: new AbortController().signal });
  await gather(ask());
  await expect(gather(ask())).rejects.toThrow("Slow down");
  for await (const _ of ask()) break;
  expect(records.map(({ status, errorCode }) => [status, errorCode])).toEqual([
    [200, undefined],
    [429, "rate_limit_exceeded"],
    [499, "client_gone"],
  ]);
  expect(records.map((record) => record.usage?.inputTokens)).toEqual([10, undefined, expect.any(Number)]);
  expect(records[0]).toMatchObject({ face: "acp-agent", driver: "d", principalId: "p", usageOrigin: "upstream" });
});

it("holds the keys of such a face to their limits, and records their names", async () => {
  const records: RequestRecord[] = [];
  const spent = { requests: 1, tokens: 500, dollars: 0 };
  const limits = new UsageLimits({
    limitsOf: () => [parseLimit("500 tokens/total") ?? expect.fail()],
    spent: () => spent,
    spentInMinute: () => spent,
    spentIn: () => spent,
    usual: () => undefined,
    costOf: () => undefined,
    clock: new HeldClock(),
  });
  const recorder = new UsageRecorder({
    limits,
    sinks: [{ request: (record) => records.push(record), toolCall: () => {} }],
  });
  const engine = createEngine({ drivers: new Map([["d", scriptedDriver()]]), route: () => "d" });
  const recorded = recordTurns(engine, recorder, "cursor", (id) => `name of ${id}`);
  const asked = gather(recorded.run(aTurn(), { requestId: "r", signal: new AbortController().signal }));
  await expect(asked).rejects.toMatchObject({ kind: "quota-exhausted" });
  expect(records).toMatchObject([{ status: 429, keyName: "name of p", usage: undefined }]);
});
