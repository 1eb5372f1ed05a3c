import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { Exporter, type ExporterOptions } from "../../src/traces/exporter.ts";
import { readExporterSettings } from "../../src/traces/exporter-settings.ts";
import { type OtlpSpan, writeAttributes } from "../../src/traces/otlp.ts";
import { requestSpans } from "../../src/traces/spans.ts";
import { requestRecord } from "../metrics/support/records.ts";
import { type Collector, startCollector } from "./support/collector.ts";

const spans = (count: number): readonly OtlpSpan[] =>
  Array.from({ length: count }, (_, index) => {
    const spanId = (index + 1).toString(16).padStart(16, "0");
    const context = { traceId: "a".repeat(32), spanId, isSampled: true, state: undefined };
    return requestSpans(requestRecord({ modelAsked: undefined }), { context, parentId: undefined })[0];
  }).filter((span) => span !== undefined);

async function setUp(options: Partial<ExporterOptions> = {}) {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  return { collector, ...exporterTo(collector, options) };
}

function exporterTo({ url }: Pick<Collector, "url">, options: Partial<ExporterOptions> = {}) {
  const troubles: string[] = [];
  const exporter = new Exporter({
    url: `${url}/v1/traces`,
    headers: { "x-api-key": new Secret("collector-key") },
    resource: writeAttributes({ "service.name": "excursor" }),
    onTrouble: (text) => troubles.push(text),
    ...options,
  });
  onTestFinished(() => exporter.close());
  return { exporter, troubles };
}

describe("the exporter", () => {
  it("sends batches that a strict collector takes, with its headers", async () => {
    const { collector, exporter } = await setUp({ limits: { batch: 10 } });
    exporter.add(spans(25));
    await exporter.flush();
    expect(collector.faults).toEqual([]);
    expect(collector.requests.map((request) => request.spans.length)).toEqual([10, 10, 5]);
    expect(collector.requests[0]?.resource).toEqual({ "service.name": "excursor" });
    expect(collector.headers[0]).toMatchObject({ "x-api-key": "collector-key" });
    expect(exporter.stats()).toEqual({ exported: 25, dropped: 0 });
  });

  it("bounds what waits and what is sent at once by length, too", async () => {
    const limits = { queueLength: 25_000, batchLength: 8000, intervalMs: 60_000 };
    const { collector, exporter } = await setUp({ limits });
    collector.answer(503);
    const large = spans(5).map((span) => ({ ...span, attributes: writeAttributes({ a: { json: "x".repeat(7000) } }) }));
    exporter.add(large);
    expect(exporter.stats().dropped).toBe(2);
    await exporter.flush();
    collector.answer(200);
    await exporter.flush();
    expect(collector.requests.map((request) => request.spans.length)).toEqual([1, 1, 1]);
    exporter.add(large.slice(3));
    await exporter.flush();
    expect(exporter.stats()).toEqual({ exported: 5, dropped: 2 });
  });

  it("keeps spans for a collector that is away, as many as fit, and counts the others", async () => {
    const { collector, exporter, troubles } = await setUp({ limits: { queue: 20, batch: 10, intervalMs: 60_000 } });
    collector.answer(503);
    exporter.add(spans(15));
    await exporter.flush();
    exporter.add(spans(15));
    expect(exporter.stats()).toEqual({ exported: 0, dropped: 10 });
    await exporter.flush();
    expect(troubles).toEqual(["The trace collector does not take spans: it answers 503."]);
    collector.answer(200);
    await exporter.flush();
    expect(exporter.stats()).toEqual({ exported: 20, dropped: 10 });
    expect(collector.spans).toHaveLength(20);
    expect(troubles.at(-1)).toBe("The trace collector takes spans again; 10 were dropped.");
  });

  it("drops what a collector refuses for good, whole or in part", async () => {
    const { collector, exporter } = await setUp();
    collector.answer(401);
    exporter.add(spans(3));
    await exporter.flush();
    expect(exporter.stats()).toEqual({ exported: 0, dropped: 3 });
    collector.answer(200, { partialSuccess: { rejectedSpans: "2", errorMessage: "no room" } });
    exporter.add(spans(5));
    await exporter.flush();
    expect(exporter.stats()).toEqual({ exported: 3, dropped: 5 });
  });

  it("sends the last spans when it is closed, and does not wait for a collector that is gone", async () => {
    const { collector, exporter } = await setUp();
    exporter.add(spans(2));
    await exporter.close();
    expect(collector.spans).toHaveLength(2);
    const lost = exporterTo({ url: "http://127.0.0.1:9" });
    lost.exporter.add(spans(2));
    await lost.exporter.close();
    expect(lost.exporter.stats()).toEqual({ exported: 0, dropped: 2 });
  });

  it("follows no redirect with its headers", async () => {
    const { collector, exporter, troubles } = await setUp();
    collector.answer(307);
    exporter.add(spans(1));
    await exporter.flush();
    expect(collector.requests).toEqual([]);
    expect(troubles).toHaveLength(1);
    expect(troubles.join()).not.toContain("collector-key");
  });
});

describe("OpenTelemetry's variables", () => {
  const read = (environment: Record<string, string>) => {
    const problems: string[] = [];
    return { settings: readExporterSettings(environment, (text) => problems.push(text)), problems };
  };

  it("say where spans go, with which headers, and as which service", () => {
    const { settings, problems } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318/",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YTpi, x-team=core",
      OTEL_SERVICE_NAME: "gateway-1",
    });
    expect(settings).toMatchObject({ url: "http://127.0.0.1:4318/v1/traces", serviceName: "gateway-1" });
    expect(settings?.headers["authorization"]?.reveal()).toBe("Basic YTpi");
    expect(settings?.headers["x-team"]?.reveal()).toBe("core");
    expect(problems).toEqual([]);
  });

  it("may name an endpoint for traces alone, which is taken as it is", () => {
    const { settings } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:3000/api/public/otel/v1/traces",
    });
    expect(settings?.url).toBe("http://127.0.0.1:3000/api/public/otel/v1/traces");
  });

  it.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_SDK_DISABLED: "true" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_TRACES_EXPORTER: "none" },
  ])("%j: no traces", (environment) => {
    expect(read(environment)).toEqual({ settings: undefined, problems: [] });
  });

  it("that cannot be used are told, without their values", () => {
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4317" })).toMatchObject({
      settings: undefined,
      problems: [expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT")],
    });
    const { settings, problems } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_HEADERS: "secret-value%",
    });
    expect(settings?.headers).toEqual({});
    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toContain("secret-value");
  });
});
