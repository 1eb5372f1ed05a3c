import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "../scripts/install-workbench.ts";
import type { RequestRecord } from "../src/usage/record/records.ts";
import { openUsageDatabase } from "../src/usage/store/usage-database.ts";
import { UsageStore } from "../src/usage/store/usage-store.ts";
import type { BenchResult } from "./measure.ts";
import { type Subject, startGateway } from "./processes.ts";
import { compare, ratioOf, type Testbed } from "./testbed.ts";

/** As much of Playwright as is used here. Its own types need those of a browser. */
interface Page {
  goto(url: string): Promise<unknown>;
  waitForSelector(selector: string): Promise<unknown>;
  close(): Promise<void>;
}
interface BrowserContext {
  newPage(): Promise<Page>;
}
interface Browser {
  newContext(): Promise<BrowserContext>;
  close(): Promise<void>;
}
interface Playwright {
  readonly chromium: { launch(options: object): Promise<Browser> };
}

const [FEW, MANY] = [10, 10_000];
const BOUND = 2;
const HOUR_MS = 3_600_000;

/** How long the page Now takes to show its charts, with many requests in the record against few. Needs a Chromium. */
export async function measureDashboard(bed: Testbed): Promise<BenchResult[]> {
  const { chromium } = createRequire(import.meta.url)("playwright-core") as Playwright;
  const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
  const homes: string[] = [];
  const subjects: Subject[] = [];
  const contexts = new Map<Subject, BrowserContext>();
  try {
    for (const requests of [FEW, MANY]) {
      const home = mkdtempSync(join(tmpdir(), "excursor-bench-dashboard-"));
      homes.push(home);
      await fillRecord(home, requests);
      const subject = await startGateway(bed.upstream, { EXCURSOR_HOME: home });
      subjects.push(subject);
      contexts.set(subject, await browser.newContext());
    }
    const [few, many] = subjects;
    if (!few || !many) return [];
    for (const [subject, context] of contexts) await signIn(subject, context);
    const rounds = await compare({ ...bed, floor: few, gateway: many }, (subject) => paint(subject, contexts));
    const ratio = ratioOf(rounds, ({ ms }) => ms, "ms");
    return [{ name: `dashboard: Now with ${MANY} requests / with ${FEW}`, bound: BOUND, ...ratio }];
  } finally {
    await browser.close();
    await Promise.all(subjects.map((subject) => subject.stop()));
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
}

async function fillRecord(home: string, requests: number): Promise<void> {
  const options = { maxAgeMs: 400 * 24 * HOUR_MS, maxBytes: 2 ** 30, onNotice: () => {} };
  const store = new UsageStore(await openUsageDatabase(join(home, "usage.db"), () => {}), options);
  const start = Date.now() - HOUR_MS;
  for (let n = 0; n < requests; n++) store.request(record(n, start + (n / requests) * HOUR_MS));
  store.close();
}

const record = (n: number, at: number): RequestRecord => ({
  id: `request-${n}`,
  startedAt: Math.round(at),
  principalId: "owner",
  keyName: "owner",
  client: "claude-code",
  face: "openai-chat",
  route: "/v1/chat/completions",
  modelAsked: "gpt-5.5",
  modelServed: "gpt-5.5",
  driver: "cursor",
  conversation: `conversation-${n % 500}`,
  status: 200,
  errorCode: undefined,
  firstTokenMs: 400,
  durationMs: 2000,
  phases: { gate: 0.2, parse: 1, model: 1500 },
  usage: {
    inputTokens: 1000,
    outputTokens: 100,
    cachedTokens: 500,
    cacheWrittenTokens: 0,
    reasoningTokens: 0,
    isEstimate: false,
  },
  usageOrigin: "upstream",
  run: { type: "fresh" },
  cost: { micros: 5000, isEstimate: true, source: "settings" },
  cache: undefined,
});

async function signIn({ port, key }: Subject, context: BrowserContext): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const link = await fetch(`${url}/ui/links`, { method: "POST", headers, body: "{}" });
  const { path } = (await link.json()) as { readonly path: string };
  const page = await context.newPage();
  await page.goto(url + path);
  await page.close();
}

/** Opens the page and waits for the first frame with the figures of the record. */
async function paint(
  subject: Subject,
  contexts: ReadonlyMap<Subject, BrowserContext>,
): Promise<{ readonly ms: number }> {
  const page = await contexts.get(subject)?.newPage();
  if (!page) return { ms: Number.NaN };
  const startedAt = performance.now();
  await page.goto(`http://127.0.0.1:${subject.port}/ui`);
  await page.waitForSelector('.plot[aria-label*=" requests, "]:not([aria-label^="0 "]) canvas');
  const ms = performance.now() - startedAt;
  await page.close();
  return { ms };
}
