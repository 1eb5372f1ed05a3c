import { describe, expect, it } from "vitest";
import { Metrics } from "../../src/metrics/metrics.ts";
import { readMetrics, sampleOf } from "./support/read-metrics.ts";
import { requestRecord, SOURCES, toolCallRecord } from "./support/records.ts";

const read = async (metrics: Metrics) => readMetrics(await metrics.render());

describe("metrics of requests", () => {
  it("counts requests, tokens by kind, cost, turns and times", async () => {
    const metrics = new Metrics(SOURCES);
    metrics.request(requestRecord());
    const samples = await read(metrics);
    const model = "some-model";
    const labels = { route: "/v1/chat/completions", client: "openai-sdk", status: "200" };
    expect(sampleOf(samples, "excursor_requests_total", labels)).toBe(1);
    expect(sampleOf(samples, "excursor_tokens_total", { model, kind: "input" })).toBe(1000);
    expect(sampleOf(samples, "excursor_tokens_total", { model, kind: "cached" })).toBe(800);
    expect(sampleOf(samples, "excursor_tokens_total", { model, kind: "cache_written" })).toBeUndefined();
    expect(sampleOf(samples, "excursor_cost_dollars_total", { model, estimate: "true" })).toBeCloseTo(0.0025);
    expect(sampleOf(samples, "excursor_turns_total", { model, driver: "cursor", run: "fresh" })).toBe(1);
    expect(sampleOf(samples, "excursor_first_token_seconds_sum", { model })).toBeCloseTo(0.4);
    expect(sampleOf(samples, "excursor_request_duration_seconds_count")).toBe(1);
    expect(sampleOf(samples, "excursor_phase_duration_seconds_sum", { phase: "model" })).toBeCloseTo(2);
  });

  it("has ascending buckets in every histogram, which add up to the count", async () => {
    const metrics = new Metrics(SOURCES);
    metrics.request(requestRecord());
    metrics.toolCall(toolCallRecord({ ranBy: "hub", server: "s" }));
    const buckets = (await read(metrics)).filter(({ name }) => name.endsWith("_bucket"));
    const series = Map.groupBy(buckets, ({ name, labels: { le: _, ...labels } }) => name + JSON.stringify(labels));
    expect(new Set(buckets.map(({ name }) => name)).size).toBe(5);
    for (const samples of series.values()) {
      const bounds = samples.map(({ labels }) => Number(labels["le"]?.replace("+Inf", "Infinity")));
      expect(bounds).toEqual([...new Set(bounds)].toSorted((a, b) => a - b));
      const counts = samples.map(({ value }) => value);
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    }
  });

  it("takes the mean gap between tokens, without the time of tools", async () => {
    const metrics = new Metrics(SOURCES);
    metrics.request(requestRecord({ firstTokenMs: 400, durationMs: 3400, phases: { tools: 1000 } }));
    const samples = await read(metrics);
    expect(sampleOf(samples, "excursor_inter_token_seconds_sum")).toBeCloseTo(0.02);
  });

  it("counts errors by code, and gives no gap for them", async () => {
    const metrics = new Metrics(SOURCES);
    metrics.request(requestRecord({ status: 502, errorCode: "upstream_error" }));
    const samples = await read(metrics);
    expect(sampleOf(samples, "excursor_errors_total", { code: "upstream_error", driver: "cursor" })).toBe(1);
    expect(sampleOf(samples, "excursor_inter_token_seconds_count")).toBeUndefined();
  });

  it("counts replays by reason", async () => {
    const metrics = new Metrics(SOURCES);
    metrics.request(requestRecord({ run: { type: "replayed", reason: "expired" } }));
    const samples = await read(metrics);
    expect(sampleOf(samples, "excursor_replays_total", { reason: "expired" })).toBe(1);
    expect(sampleOf(samples, "excursor_turns_total", { run: "replayed" })).toBe(1);
  });

  it("takes a correction off what follows, since a counter must not fall", async () => {
    const metrics = new Metrics(SOURCES);
    const usage = {
      ...requestRecord().usage,
      inputTokens: 0,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      isEstimate: true,
    };
    for (const outputTokens of [100, -30, 20, 50]) {
      metrics.request(requestRecord({ usage: { ...usage, outputTokens, reasoningTokens: 0 } }));
      await read(metrics);
    }
    expect(sampleOf(await read(metrics), "excursor_tokens_total", { kind: "output" })).toBe(140);
  });

  it("counts tool calls, and those of the hub by server", async () => {
    const metrics = new Metrics(SOURCES);
    metrics.toolCall(toolCallRecord());
    metrics.toolCall(toolCallRecord({ ranBy: "client", outcome: "expired", answeredAt: undefined }));
    const samples = await read(metrics);
    expect(sampleOf(samples, "excursor_tool_calls_total", { ran_by: "client", outcome: "expired" })).toBe(1);
    expect(sampleOf(samples, "excursor_hub_calls_total", { server: "files", outcome: "answered" })).toBe(1);
    expect(sampleOf(samples, "excursor_hub_call_duration_seconds_sum", { server: "files" })).toBeCloseTo(0.25);
  });

  it("loses no record that came before the first scrape", async () => {
    const metrics = new Metrics(SOURCES);
    for (let count = 0; count < 1000; count++) metrics.request(requestRecord());
    expect(sampleOf(await read(metrics), "excursor_requests_total")).toBe(1000);
    metrics.request(requestRecord());
    expect(sampleOf(await read(metrics), "excursor_requests_total")).toBe(1001);
  });
});

describe("labels", () => {
  it("have a bounded number of values, whatever the records say", async () => {
    const metrics = new Metrics(SOURCES);
    for (let count = 0; count < 1000; count++) {
      metrics.request(
        requestRecord({
          modelServed: `model-${count}`,
          client: `client-${count}`,
          route: `/route/${count}`,
          driver: `driver-${count}`,
          errorCode: `code-${count}`,
        }),
      );
      metrics.toolCall(toolCallRecord({ server: `server-${count}` }));
    }
    const samples = (await read(metrics)).filter(({ name }) => name.startsWith("excursor_"));
    const values = (label: string) => new Set(samples.flatMap(({ labels }) => labels[label] ?? []));
    expect(values("model").size).toBe(201);
    for (const label of ["client", "route", "driver", "code", "server"]) {
      expect(values(label).size, label).toBe(101);
      expect(values(label).has("other"), label).toBe(true);
    }
    expect(sampleOf(samples, "excursor_tokens_total", { model: "other", kind: "input" })).toBe(800_000);
  });

  it("do not take the names of models that do not exist", async () => {
    const metrics = new Metrics(SOURCES);
    for (let count = 0; count < 300; count++) {
      metrics.request(
        requestRecord({ modelAsked: `no-${count}`, modelServed: undefined, errorCode: "model_not_found" }),
      );
    }
    metrics.request(requestRecord());
    const samples = await read(metrics);
    expect(sampleOf(samples, "excursor_turns_total", { model: "some-model" })).toBe(1);
    expect(JSON.stringify(samples)).not.toContain("no-1");
  });

  it("are escaped", async () => {
    const metrics = new Metrics(SOURCES);
    const model = 'a"b\\c\nd';
    metrics.request(requestRecord({ modelServed: model }));
    expect(sampleOf(await read(metrics), "excursor_tokens_total", { model, kind: "output" })).toBe(101);
  });
});

describe("gauges", () => {
  it("are read when somebody looks, over all listeners", async () => {
    let parkedRuns = 2;
    const metrics = new Metrics({ ...SOURCES, streams: () => 3, engine: () => ({ parkedRuns, parkedBytes: 4096 }) });
    metrics.addServer(() => ({ requests: 3 }));
    const remove = metrics.addServer(() => ({ requests: 1 }));
    const before = await read(metrics);
    expect(sampleOf(before, "excursor_open_requests")).toBe(4);
    expect(sampleOf(before, "excursor_open_streams")).toBe(3);
    expect(sampleOf(before, "excursor_parked_runs")).toBe(2);
    expect(sampleOf(before, "excursor_parked_bytes")).toBe(4096);
    expect(sampleOf(before, "excursor_upstream_sessions")).toBe(1);
    expect(sampleOf(before, "excursor_hub_servers", { state: "ready" })).toBe(2);
    expect(sampleOf(before, "excursor_retry_budget", { upstream: "cursor" })).toBe(9.5);
    remove();
    parkedRuns = 0;
    const after = await read(metrics);
    expect(sampleOf(after, "excursor_open_requests")).toBe(3);
    expect(sampleOf(after, "excursor_parked_runs")).toBe(0);
    // A second scrape does not count the same retries again.
    expect(sampleOf(after, "excursor_retries_total", { upstream: "cursor", outcome: "granted" })).toBe(4);
    expect(sampleOf(after, "excursor_retries_total", { upstream: "cursor", outcome: "refused" })).toBe(1);
  });

  it("count the records that the usage record has lost, also when there are none", async () => {
    let lost = 0;
    const metrics = new Metrics({ ...SOURCES, lostRecords: () => lost });
    const value = async () =>
      (await read(metrics)).find(({ name }) => name === "excursor_usage_records_lost_total")?.value;
    expect(await value()).toBe(0);
    lost = 3;
    expect([await value(), await value()]).toEqual([3, 3]);
  });

  it("tell the event loop's lag and the heap", async () => {
    const samples = await read(new Metrics(SOURCES));
    expect(sampleOf(samples, "nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
    expect(sampleOf(samples, "nodejs_heap_size_used_bytes")).toBeGreaterThan(0);
  });
});
