import { describe, expect, it } from "vitest";
import { readMetrics, type Sample, sampleOf } from "../../metrics/support/read-metrics.ts";
import { KEY, setUpGateway } from "../support/gateway-process.ts";
import { openOwnGateway } from "../support/own-gateway.ts";
import { TOOLS } from "../support/tool-client.ts";

async function scrape(url: string): Promise<readonly Sample[]> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
  expect(response.status).toBe(200);
  return readMetrics(await response.text());
}

describe("/metrics of a gateway", () => {
  it("shows parked runs, upstream sessions and the retry budget", async () => {
    const { open } = await setUpGateway();
    const { client, url } = await open();
    await client.chat.completions.create({
      model: "gpt-5.5",
      messages: [{ role: "user", content: "@sim call look {} ;; say {{result}}" }],
      tools: TOOLS,
    });
    const samples = await scrape(url);
    expect(sampleOf(samples, "excursor_parked_runs")).toBe(1);
    expect(sampleOf(samples, "excursor_parked_bytes")).toBeGreaterThan(0);
    expect(sampleOf(samples, "excursor_upstream_sessions")).toBeGreaterThan(0);
    expect(sampleOf(samples, "excursor_upstream_streams")).toBe(1);
    expect(sampleOf(samples, "excursor_retry_budget", { upstream: "cursor" })).toBe(10);
    expect(sampleOf(samples, "excursor_retries_total", { upstream: "cursor", outcome: "granted" })).toBe(0);
  });

  it("can be opened or turned off by the settings", async () => {
    const open = await openOwnGateway({ metrics: "open" });
    expect((await fetch(`${open.url}/metrics`)).status).toBe(200);
    const off = await openOwnGateway({ metrics: "off" });
    const authorized = { headers: { authorization: `Bearer ${KEY}` } };
    expect((await fetch(`${off.url}/metrics`, authorized)).status).toBe(404);
  });

  it("is not opened beyond loopback", async () => {
    await expect(openOwnGateway({ metrics: "open", host: "0.0.0.0" })).rejects.toMatchObject({ code: "open_metrics" });
  });
});
