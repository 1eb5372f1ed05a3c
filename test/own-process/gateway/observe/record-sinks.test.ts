import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadConfig } from "../../../../src/app/load-config.ts";
import { openGateway } from "../../../../src/app/open-gateway.ts";
import { Metrics } from "../../../../src/metrics/metrics.ts";
import { Tracer } from "../../../../src/traces/tracer.ts";
import { KEY } from "../../../gateway/support/gateway-process.ts";
import { readMetrics, sampleOf } from "../../../metrics/support/read-metrics.ts";
import { type Collector, startCollector } from "../../../traces/support/collector.ts";

const CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

let collector: Collector;

beforeEach(async () => {
  collector = await startCollector();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await collector.close();
});

/** A gateway in this process with its simulator. */
async function openDemo() {
  const loaded = loadConfig({ flags: { port: 0, key: KEY }, environment: {} });
  const gateway = await openGateway(loaded, { isDemo: true, writeLog: () => {} });
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  return {
    gateway,
    async stream(content: string, before: readonly object[] = []): Promise<string> {
      const messages = [...before, { role: "user", content }];
      const body = JSON.stringify({ model: "gpt-5.5", stream: true, messages });
      const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body });
      return response.text();
    },
    scrape: async () => readMetrics(await (await fetch(`${gateway.url}/metrics`, { headers })).text()),
  };
}

const words = (count: number) => `@sim say ${Array.from({ length: count }, (_, index) => `w${index}`).join(" ")}`;

describe("the sinks of the usage record", () => {
  it("are called once for each request, however many tokens it has", async () => {
    const calls = [Metrics, Tracer].map((sink) => vi.spyOn(sink.prototype, "request"));
    const { gateway, stream } = await openDemo();
    const [short, long] = [await stream(words(3)), await stream(words(3000))];
    expect(long.split("\n\n").length).toBeGreaterThan(short.split("\n\n").length + 100);
    await gateway.close(0);
    expect(calls.map((spy) => spy.mock.calls.length)).toEqual([2, 2]);
  });

  it("show a request in the metrics and as spans, and scrapes in neither", async () => {
    const { gateway, stream, scrape } = await openDemo();
    await stream("@sim say hello");
    // The record is complete when the response is closed, which the client cannot see.
    const route = "/v1/chat/completions";
    await expect.poll(async () => sampleOf(await scrape(), "excursor_requests_total", { route })).toBe(1);
    const samples = await scrape();
    expect(sampleOf(samples, "excursor_requests_total")).toBe(1);
    expect(sampleOf(samples, "excursor_turns_total", { run: "fresh", driver: "cursor" })).toBe(1);
    expect(sampleOf(samples, "excursor_tokens_total", { kind: "output" })).toBeGreaterThan(0);
    expect(sampleOf(samples, "excursor_first_token_seconds_count")).toBe(1);
    await gateway.close(0);
    expect(collector.faults).toEqual([]);
    expect(collector.spans.map(({ name }) => name)).toEqual([route, "chat gpt-5.5"]);
  });

  it.each([undefined, "false", "1"])("get no content if the variable for that is %s", async (value) => {
    vi.stubEnv(CONTENT, value);
    const { gateway, stream } = await openDemo();
    await stream("@sim say private words");
    await gateway.close(0);
    expect(collector.spans).toHaveLength(2);
    expect(JSON.stringify(collector.spans)).not.toMatch(/private|gen_ai\.(?:input|output|system)/);
  });

  it("get the content of every turn if the variable for that is true", async () => {
    vi.stubEnv(CONTENT, "true");
    const { gateway, stream } = await openDemo();
    await stream("@sim say private words");
    await stream("@sim say more", [
      { role: "system", content: "Be brief." },
      { role: "user", content: "first" },
      { role: "assistant", content: "an answer" },
    ]);
    await gateway.close(0);
    expect(collector.faults).toEqual([]);
    const [, first, , second] = collector.spans.map(({ attributes }) => attributes);
    expect(JSON.parse(String(first?.["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: "private words" }], finish_reason: "stop" },
    ]);
    expect(second?.["gen_ai.system_instructions"]).toBe('[{"type":"text","content":"Be brief."}]');
    expect(second?.["gen_ai.input.messages"]).toContain("an answer");
    expect(second?.["gen_ai.output.messages"]).toBeDefined();
  });
});
