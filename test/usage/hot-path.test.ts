import { afterEach, expect, it, vi } from "vitest";
import { Metrics } from "../../src/metrics/metrics.ts";
import { type Simulator, startSim } from "../../src/sim/server.ts";
import { CacheWatch } from "../../src/usage/cache-watch.ts";
import { Prices } from "../../src/usage/prices.ts";
import { RequestRecording } from "../../src/usage/record/request-recording.ts";
import { RunRecording } from "../../src/usage/record/run-recording.ts";
import { UsageRecorder } from "../../src/usage/record/usage-recorder.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";
import { aCall, aRecord } from "./support.ts";

let sim: Simulator | undefined;

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await sim?.close();
  sim = undefined;
});

/** Called by timers, however many tokens there are. */
const BY_TIME = new Set(["flush"]);

/** Counts every call of a method of these classes. */
function countCalls(classes: readonly { readonly prototype: object }[]): () => number {
  const spies = classes.flatMap(({ prototype }) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(([name, { value }]) => name !== "constructor" && !BY_TIME.has(name) && typeof value === "function")
      .map(([name]) => vi.spyOn(prototype as Record<string, () => void>, name)),
  );
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}

it.each([true, false])("no token costs a call of the record or the metrics; stream: %s", async (stream) => {
  sim = await startSim();
  const gateway = await openOwnGateway({ upstream: sim.url });
  const calls = countCalls([RequestRecording, RunRecording, UsageRecorder, UsageStore, Metrics, Prices, CacheWatch]);
  // The run is recorded last. Writes are left out, since they depend on the time.
  const runs = vi.spyOn(UsageStore.prototype, "run");
  vi.spyOn(UsageStore.prototype, "flush").mockReturnValue(true);
  let asked = 0;
  const callsFor = async (tokens: number) => {
    const before = calls();
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-5.5",
        stream,
        messages: [{ role: "user", content: `@sim tokens ${tokens}` }],
      }),
    });
    expect((await response.text()).length).toBeGreaterThan(tokens);
    asked++;
    await vi.waitFor(() => expect(runs.mock.calls.length).toBe(asked));
    return calls() - before;
  };
  // Loads the prices.
  await callsFor(1);
  const few = await callsFor(10);
  expect(few).toBeGreaterThan(5);
  expect(await callsFor(5000)).toBe(few);
});

it("the record is written at most once a second", async () => {
  vi.useFakeTimers();
  const connection = await openUsageDatabase(":memory:", () => {});
  const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e12, onNotice: () => {} });
  const exec = vi.spyOn(connection, "exec");
  const writes = () => exec.mock.calls.filter(([sql]) => sql.startsWith("BEGIN")).length;
  const SECONDS = 10;
  for (let tick = 0; tick < SECONDS * 100; tick++) {
    const record = aRecord({ id: `r${tick}`, startedAt: Date.now() });
    store.request(record);
    store.toolCall(aCall({ callId: `c${tick}` }));
    store.corrected({ ...record, status: 499 }, record);
    vi.advanceTimersByTime(10);
  }
  expect(writes()).toBeGreaterThan(SECONDS / 2);
  expect(writes()).toBeLessThanOrEqual(SECONDS);
  expect(connection.prepare("SELECT count(*) AS n FROM request").get()?.["n"]).toBeGreaterThan(900);
  store.close();
});
