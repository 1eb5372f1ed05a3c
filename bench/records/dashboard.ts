import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "../../scripts/install-workbench.ts";
import type { RequestRecord } from "../../src/usage/record/records.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { Connection, StreamedAnswer } from "../clients/load.ts";
import type { BenchResult } from "../harness/measure.ts";
import { type Subject, startGateway } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";

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

/**
 * How long the page Now takes to show its charts, with many requests in the record against few; what an open page
 * receives under load; and the largest part of a long list. Needs a Chromium.
 */
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
    const rounds = await compare({ floor: few, gateway: many }, (subject) => paint(subject, contexts));
    const ratio = ratioOf(rounds, ({ ms }) => ms, "ms");
    return [
      { name: `dashboard: Now with ${MANY} requests / with ${FEW}`, bound: BOUND, ...ratio },
      ...(await measureFeed(many)),
      await measureList(bed, homes),
    ];
  } finally {
    await browser.close();
    await Promise.all(subjects.map((subject) => subject.stop()));
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
}

/** Streams while the feed is read, and for how long. */
const LOAD = { streams: 200, rate: 25, tokens: 150 };
const MESSAGES_PER_S = 4;
const MESSAGE_KB = 128;

/** What an open page receives while many answers are streamed. */
async function measureFeed(subject: Subject): Promise<BenchResult[]> {
  const over = new AbortController();
  const feed = await fetch(`http://127.0.0.1:${subject.port}/ui/api/feed`, {
    headers: { cookie: await cookieOf(subject) },
    signal: over.signal,
  });
  const { streams, rate, tokens } = LOAD;
  const load = Array.from({ length: streams }, async (_, id) => {
    const connection = new Connection(subject);
    await connection.ask({ tokens, rate, id, together: streams }, new StreamedAnswer());
    connection.destroy();
  });
  void Promise.all(load).finally(() => over.abort());
  const startedAt = performance.now();
  let lastAt = startedAt;
  const sizes: number[] = [];
  let pending = 0;
  try {
    for await (const chunk of feed.body ?? []) {
      const [rest = "", ...next] = Buffer.from(chunk).toString("latin1").split("\n\n");
      pending += rest.length;
      for (const begun of next) {
        sizes.push(pending);
        pending = begun.length;
        lastAt = performance.now();
      }
    }
  } catch (error) {
    if (!over.signal.aborted) throw error;
  }
  await Promise.all(load);
  // The first message comes at once.
  const perSecond = (sizes.length - 1) / ((lastAt - startedAt) / 1000);
  const name = `dashboard: an open page under ${streams} streams`;
  return [
    { name: `${name}, messages/s`, value: perSecond, unit: "/s", bound: MESSAGES_PER_S },
    { name: `${name}, largest`, value: Math.max(...sizes) / 1000, unit: "kB", bound: MESSAGE_KB },
  ];
}

const CONVERSATIONS = 100_000;
const PART_KB = 200;

/** The largest reply while the whole list of conversations is read. */
async function measureList({ upstream }: Testbed, homes: string[]): Promise<BenchResult> {
  const home = mkdtempSync(join(tmpdir(), "excursor-bench-dashboard-"));
  homes.push(home);
  await fillRecord(home, CONVERSATIONS, CONVERSATIONS);
  const subject = await startGateway(upstream, { EXCURSOR_HOME: home });
  try {
    const cookie = await cookieOf(subject);
    const sizes: number[] = [];
    let seen = 0;
    for (let next: number | null | undefined; next !== null; ) {
      const query = next === undefined ? "" : `?before=${next}`;
      const reply = await fetch(`http://127.0.0.1:${subject.port}/ui/api/conversations${query}`, {
        headers: { cookie },
      });
      const text = await reply.text();
      const page = JSON.parse(text) as { readonly conversations: readonly object[]; readonly next: number | null };
      sizes.push(Buffer.byteLength(text));
      seen += page.conversations.length;
      next = page.next;
    }
    const name = `dashboard: the largest of ${sizes.length} replies for ${seen} conversations`;
    return { name, value: Math.max(...sizes) / 1000, unit: "kB", bound: PART_KB };
  } finally {
    await subject.stop();
  }
}

async function fillRecord(home: string, requests: number, conversations = 500): Promise<void> {
  const options = { maxAgeMs: 400 * 24 * HOUR_MS, maxBytes: 2 ** 30, onNotice: () => {} };
  const store = new UsageStore(await openUsageDatabase(join(home, "usage.db"), () => {}), options);
  const start = Date.now() - HOUR_MS;
  for (let n = 0; n < requests; n++) store.request(record(n, start + (n / requests) * HOUR_MS, conversations));
  store.close();
}

const record = (n: number, at: number, conversations: number): RequestRecord => ({
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
  conversation: `conversation-${n % conversations}`,
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

async function linkTo({ port, key }: Subject): Promise<string> {
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const link = await fetch(`${url}/ui/links`, { method: "POST", headers, body: "{}" });
  const { path } = (await link.json()) as { readonly path: string };
  return url + path;
}

async function signIn(subject: Subject, context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto(await linkTo(subject));
  await page.close();
}

async function cookieOf(subject: Subject): Promise<string> {
  const opened = await fetch(await linkTo(subject), { redirect: "manual" });
  return opened.headers.get("set-cookie")?.split(";")[0] ?? "";
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
