import { DatabaseSync } from "node:sqlite";
import OpenAI from "openai";
import { describe, expect, it, vi } from "vitest";
import { MAX_REPLY_BYTES } from "../../src/dashboard/call.ts";
import { usageCalls } from "../../src/dashboard/calls/usage.ts";
import type { CapturedMessagesReply, CapturedReply, DriftReply } from "../../src/dashboard/captured-messages.ts";
import type {
  AboutReply,
  HealthLine,
  HealthReply,
  KeysReply,
  LogReply,
  ModelsReply,
  ProbeReply,
} from "../../src/dashboard/messages.ts";
import type { ConversationPage } from "../../src/usage/queries/conversations.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { aCall, aRecord } from "../usage/support.ts";
import { openDashboard } from "./support/open-dashboard.ts";

const json = async <T>(response: Response): Promise<T> => (await response.json()) as T;

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

describe("keys", () => {
  it("are added, shown once, used, counted and revoked", async () => {
    const visitor = await openDashboard();
    const made = await visitor.send("POST", "/keys", { name: "alice", limits: ["1000000 tokens/day"], streams: 2 });
    const { key } = await json<{ key: string }>(made);
    const client = new OpenAI({ baseURL: `${visitor.url}/v1`, apiKey: key, maxRetries: 0 });
    const ask = () =>
      client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "@sim say hello" }] });
    expect((await ask()).choices[0]?.message.content).toBe("hello");
    const rows = async () => (await json<KeysReply>(await visitor.get("/keys"))).keys;
    await expect.poll(async () => (await rows())[0]?.today.requests, { timeout: 10_000 }).toBe(1);
    const [row] = await rows();
    expect(JSON.stringify(row)).not.toContain(key);
    expect(row).toMatchObject({ name: "alice", streams: 2, account: null });
    expect(row?.limits).toMatchObject([
      { limit: "1000000 tokens/day", unit: "tokens", amount: 1_000_000, used: row?.today.tokens },
    ]);
    expect(row?.today.tokens).toBeGreaterThan(0);
    expect((await visitor.send("DELETE", "/keys/alice")).status).toBe(200);
    await expect(ask()).rejects.toMatchObject({ status: 401 });
    expect((await json<KeysReply>(await visitor.get("/keys"))).keys).toEqual([]);
  });

  it("have their limits lifted", async () => {
    const visitor = await openDashboard();
    const made = await visitor.send("POST", "/keys", { name: "bob", limits: ["10 tokens/total"] });
    const { key } = await json<{ key: string }>(made);
    const client = new OpenAI({ baseURL: `${visitor.url}/v1`, apiKey: key, maxRetries: 0 });
    const ask = () =>
      client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "@sim say hello" }] });
    const used = async () => (await json<KeysReply>(await visitor.get("/keys"))).keys[0]?.limits[0]?.used;
    await ask().catch(() => {});
    await expect.poll(used).toBeGreaterThan(0);
    expect((await visitor.send("POST", "/keys/bob/lift", {})).status).toBe(200);
    expect(await used()).toBe(0);
    expect((await visitor.send("POST", "/keys/nobody/lift", {})).status).toBe(404);
  });

  it.each([
    [{ name: "a b" }, "name: expected 1 to 64 letters"],
    [{ name: "a", limits: ["much"] }, "limits.0: expected a limit such as 60 requests/minute"],
    [{ name: "a", streams: 0 }, "streams: expected a number of at least 1"],
    [{ name: "a", streams: "x" }, "streams: expected a whole number"],
    [{ name: "a", account: "nobody" }, "account: expected an account that is signed in"],
  ])("are refused with the name of the wrong field: %j", async (body, message) => {
    const { send } = await openDashboard();
    const refused = await send("POST", "/keys", body);
    expect(refused.status).toBe(400);
    expect((await json<Failure>(refused)).error.message).toContain(message);
  });

  it("of the same name are refused, and so is a key that is not there", async () => {
    const { send } = await openDashboard();
    await send("POST", "/keys", { name: "alice" });
    const twice = await send("POST", "/keys", { name: "alice" });
    expect([twice.status, (await json<Failure>(twice)).error.code]).toEqual([400, "key_exists"]);
    expect((await send("DELETE", "/keys/bob")).status).toBe(404);
  });

  it("cannot have the name of the gateway's own key", async () => {
    const { send } = await openDashboard();
    const refused = await send("POST", "/keys", { name: "owner" });
    expect([refused.status, (await json<Failure>(refused)).error.code]).toEqual([400, "key_exists"]);
  });
});

describe("models", () => {
  it("are listed with their abilities, prices and drivers", async () => {
    const { get } = await openDashboard({ prices: { auto: { input: 1, output: 2 } } });
    const { models, modelCount } = await json<ModelsReply>(await get("/models"));
    expect(models).toHaveLength(modelCount);
    const auto = models.find(({ id }) => id === "auto");
    expect(auto).toMatchObject({
      driver: "cursor",
      price: { inputMicros: 1e6, outputMicros: 2e6, source: "settings" },
    });
    expect(models.some(({ efforts, isThinking }) => isThinking && efforts.length > 0)).toBe(true);
  });

  it("are proved by a request, which is recorded; a failure is a result", async () => {
    const { send, get } = await openDashboard();
    const fine = await json<ProbeReply>(await send("POST", "/probes", { model: "auto" }));
    expect(fine).toMatchObject({ model: "auto", isFine: true, text: expect.stringContaining("ready") });
    const failed = await json<ProbeReply>(await send("POST", "/probes", { model: "no-such-model" }));
    expect(failed).toMatchObject({ isFine: false, message: expect.stringContaining("no-such-model") });
    const { own } = await json<KeysReply>(await get("/keys"));
    expect(own.today.requests).toBe(2);
    expect((await send("POST", "/probes", {})).status).toBe(400);
  });
});

describe("account and health", () => {
  it("shows the account and the gateway", async () => {
    const { get, home } = await openDashboard();
    expect(await json(await get("/account"))).toMatchObject({ email: expect.stringContaining("@"), plan: "pro" });
    expect(await json<AboutReply>(await get("/about"))).toMatchObject({
      version: "1.2.3",
      home,
      pid: process.pid,
      capture: null,
    });
  });

  it("shows the gateway's capture", async () => {
    const { get, home, ask } = await openDashboard({ capture: true });
    await (await ask({ messages: [{ role: "user", content: "@sim say hello" }] })).json();
    const { capture } = await json<AboutReply>(await get("/about"));
    expect(capture).toMatchObject({ file: expect.stringContaining(home), endReason: null });
    expect(capture?.bytes).toBeGreaterThan(0);
  });

  it("shows a run over HTTP/1.1 as one call, with its uploads", async () => {
    const { get, ask } = await openDashboard({ capture: true, transport: "h1" });
    await (await ask({ messages: [{ role: "user", content: "@sim say hello" }] })).json();
    const list = async () => (await json<ConversationPage>(await get("/conversations"))).conversations;
    await expect.poll(list, { timeout: 10_000 }).toHaveLength(1);
    const captured = async () => (await json<CapturedReply>(await get(`/captured/${(await list())[0]?.id}`))).calls;
    await expect
      .poll(async () => (await captured()).map(({ wire, path }) => `${wire} ${path}`))
      .toEqual(["client /v1/chat/completions", "upstream /agent.v1.AgentService/RunSSE"]);
    const [, run] = await captured();
    const { messages } = await json<CapturedMessagesReply>(await get(`/captured-calls/${run?.call}`));
    const kinds = messages.map(({ direction, kind }) => `${direction} ${kind}`);
    expect(kinds).toEqual(expect.arrayContaining(["sent run_request", "received interaction_update.text_delta"]));
    expect((await get("/captured-calls/999")).status).toBe(404);
  });

  it("compares the capture with our schema when asked", async () => {
    const { send, ask } = await openDashboard({ capture: true });
    await (await ask({ messages: [{ role: "user", content: "@sim exec #1999 {} ;; say hello" }] })).json();
    const check = async () => json<DriftReply>(await send("POST", "/drift", {}));
    const field = { what: "field", owner: "agent.v1.ExecServerMessage", name: "#1999", count: 1, isConflict: false };
    // Records are written within a tenth of a second.
    await expect.poll(async () => (await check()).differences).toContainEqual(expect.objectContaining(field));
    expect(await check()).toMatchObject({ found: 1, conflicts: 0, isCut: false });
    const without = await openDashboard();
    expect((await without.send("POST", "/drift", {})).status).toBe(404);
  });

  it("makes the checks once for all, and again when asked", async () => {
    const lines: HealthLine[] = [{ id: "node", status: "ok", text: "Node." }];
    const examine = vi.fn(async () => lines);
    const { get, send } = await openDashboard({}, examine);
    const [first, second] = await Promise.all([get("/health"), get("/health")]);
    expect((await json<HealthReply>(first)).lines).toEqual(lines);
    await second.json();
    await (await get("/health")).json();
    expect(examine).toHaveBeenCalledTimes(1);
    await (await send("POST", "/health", {})).json();
    expect(examine).toHaveBeenCalledTimes(2);
  });

  it("gives the lines of the log after a number, and none about the page itself", async () => {
    const { get, ask } = await openDashboard();
    await (await ask({ messages: [{ role: "user", content: "@sim say hello" }] })).json();
    const read = async () => (await json<LogReply>(await get("/log"))).lines;
    await expect
      .poll(async () => (await read()).at(-1)?.json, { timeout: 10_000 })
      .toContain('"route":"/v1/chat/completions"');
    const lines = await read();
    const last = lines.at(-1);
    expect(lines.some((line) => line.json.includes("/ui"))).toBe(false);
    expect(await json<LogReply>(await get(`/log?after=${last?.number}`))).toEqual({ lines: [] });
    expect((await get("/log?after=x")).status).toBe(400);
  });
});

describe("a large usage record", () => {
  const NOON = Date.UTC(2026, 10, 16, 12);
  const signal = new AbortController().signal;

  it("is paged so that no reply has more than 200 KB", async () => {
    const connection = await openUsageDatabase(":memory:", () => {});
    const store = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, now: () => NOON, onNotice: () => {} });
    const long = "m".repeat(128);
    for (let n = 0; n < 2000; n++) {
      const name = { client: "c".repeat(32), keyName: "k".repeat(64), modelServed: long };
      store.request(aRecord({ ...name, id: `r${n}`, conversation: `conversation-${n % 1500}`, startedAt: NOON + n }));
    }
    for (let call = 0; call < 200; call++) {
      store.toolCall(aCall({ callId: `c${call}`, requestId: "r1999", askedAt: NOON + 1999, tool: long, server: long }));
    }
    store.flush();
    const calls = usageCalls(connection, () => NOON);
    const read = async (path: string, id: string, query: string) => {
      const call = calls.find((one) => one.path === path);
      const value = await call?.handle({ path: { id }, query: new URLSearchParams(query), body: undefined, signal });
      expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThan(MAX_REPLY_BYTES);
      return value as { readonly next: number | null; readonly conversations: readonly { readonly id: string }[] };
    };
    const seen = new Set<string>();
    let query = "";
    for (let page = 0; page < 50; page++) {
      const { next, conversations } = await read("/conversations", "", query);
      for (const { id } of conversations) seen.add(id);
      if (next === null) break;
      query = `before=${next}`;
    }
    expect(seen.size).toBe(1500);
    await read("/conversations/{id}", "conversation-499", "");
    await read("/series", "", "range=month");
    store.close();
  });

  it("refuses a place that no page has named", async () => {
    const calls = usageCalls(new DatabaseSync(":memory:"));
    const list = calls.find(({ path }) => path === "/conversations");
    for (const before of ["x", "-1", "1.5", "9e99"]) {
      const query = new URLSearchParams({ before });
      expect(() => list?.handle({ path: {}, query, body: undefined, signal })).toThrow("before");
    }
  });
});
