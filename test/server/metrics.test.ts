import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Metrics } from "../../src/metrics/metrics.ts";
import { Admission } from "../../src/server/gate/admission.ts";
import { addKey, keysPath } from "../../src/server/gate/keys/gateway-keys.ts";
import { KnownKeys } from "../../src/server/gate/keys/known-keys.ts";
import { readMetrics, sampleOf } from "../metrics/support/read-metrics.ts";
import { SOURCES } from "../metrics/support/records.ts";
import { DEFAULT_LIMITS } from "../support/default-limits.ts";
import { KEY, postChat, startTestGateway } from "./support/gateway.ts";

const start = (isOpen = false, options: Parameters<typeof startTestGateway>[0] = {}) => {
  const admission = new Admission({ limits: DEFAULT_LIMITS });
  const metrics = new Metrics({ ...SOURCES, streams: () => admission.streams });
  return startTestGateway({ admission, metrics, metricsRoute: { page: metrics, isOpen }, ...options });
};

const scrape = (url: string, key?: string) =>
  fetch(`${url}/metrics`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });

describe("/metrics", () => {
  it("is for the owner's key", async () => {
    const { url } = await start();
    expect((await scrape(url)).status).toBe(401);
    expect((await scrape(url, "wrong")).status).toBe(401);
    const response = await scrape(url, KEY);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(sampleOf(readMetrics(await response.text()), "excursor_parked_runs")).toBe(2);
  });

  it("is not for keys that were given out, nor for Cursor tokens", async () => {
    const home = mkdtempSync(join(tmpdir(), "excursor-metrics-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const key = (await addKey(home, "alice", { account: undefined, limits: { usage: [] } })).reveal();
    const { url } = await start(false, { issued: { keys: new KnownKeys(keysPath(home), () => {}) } });
    const response = await scrape(url, key);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: "owner_only" } });
    const claims = Buffer.from(JSON.stringify({ sub: "auth0|user_1", exp: 4_102_444_800 })).toString("base64url");
    expect((await scrape(url, `eyJhbGciOiJIUzI1NiJ9.${claims}.c2ln`)).status).toBe(403);
  });

  it("needs no key where the settings say so, but the right Host", async () => {
    const { url, port } = await start(true);
    expect((await scrape(url)).status).toBe(200);
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { origin: "https://evil.example" } });
    expect(response.status).toBe(403);
  });

  it("does not exist where the settings turn it off", async () => {
    const { url } = await startTestGateway();
    expect((await scrape(url, KEY)).status).toBe(404);
  });

  it("counts the streams that are open now, and not the scrape itself", async () => {
    const gateway = await start();
    const response = postChat(gateway, { stream: true });
    const answer = await gateway.engine.next();
    answer.say("hello");
    const stream = await response;
    const during = readMetrics(await (await scrape(gateway.url, KEY)).text());
    expect(sampleOf(during, "excursor_open_streams")).toBe(1);
    expect(sampleOf(during, "excursor_open_requests")).toBe(1);
    answer.finish();
    await stream.text();
    await gateway.logged(stream.headers.get("x-request-id") ?? "");
    const after = readMetrics(await (await scrape(gateway.url, KEY)).text());
    expect(sampleOf(after, "excursor_open_streams")).toBe(0);
    expect(sampleOf(after, "excursor_open_requests")).toBe(0);
  });
});
