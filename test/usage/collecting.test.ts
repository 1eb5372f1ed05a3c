import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { loadUsageEvents } from "../../src/credentials/account-usage.ts";
import { addKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { type Simulator, startSim } from "../../src/sim/server.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";

let sim: Simulator;

afterEach(() => sim.close());

const TOOLS = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];

type Message = Readonly<Record<string, unknown>>;

async function setUp(settings: object = {}) {
  sim = await startSim();
  const gateway = await openOwnGateway({ upstream: sim.url, ...settings });
  const ask = (messages: readonly Message[], more: object = {}, init: RequestInit = {}) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", "user-agent": "claude-cli/2.1" },
      body: JSON.stringify({ model: "gpt-5.5", messages, ...more }),
      ...init,
    });
  const answerOf = async (messages: readonly Message[], more: object = {}): Promise<Message> => {
    const body = (await (await ask(messages, more)).json()) as { choices: { message: Message }[] };
    return body.choices[0]?.message ?? {};
  };
  /** Waits until the simulator has charged so many turns. */
  const charged = async (count: number) => {
    await vi.waitFor(async () => expect(await chargesOf()).toHaveLength(count));
    return chargesOf();
  };
  /** Stops the gateway, which writes what waits, and reads the table. */
  const rows = async (table: "request" | "tool_call" | "run") => {
    await gateway.restart();
    const database = new DatabaseSync(join(gateway.home, "usage.db"), { readOnly: true });
    const all = database.prepare(`SELECT * FROM ${table} ORDER BY ${table === "tool_call" ? "asked_at" : "at"}`).all();
    database.close();
    return all as readonly Readonly<Record<string, unknown>>[];
  };
  return { gateway, ask, answerOf, rows, charged };
}

/** What the simulator has charged, latest first. */
const chargesOf = async () => {
  const call = { transport: createHttp1Transport(), origin: sim.url };
  return (await loadUsageEvents(new Secret("tester"), { sinceMs: 0, untilMs: 2 ** 42 }, call)).events;
};

const user = (content: string): Message => ({ role: "user", content });

describe("a request in the usage record", () => {
  it("has who asked, what answered, how long it took and what it used", async () => {
    const { answerOf, rows } = await setUp({ models: { mine: "gpt-5.5" } });
    await answerOf([user("@sim usage 100 20 30 ;; say hello")], { model: "mine" });
    const [row] = await rows("request");
    expect(row).toMatchObject({
      principal: "owner",
      key_name: "owner",
      client: "claude-code",
      face: "openai-chat",
      route: "/v1/chat/completions",
      model_asked: "mine",
      model: "gpt-5.5",
      driver: "cursor",
      status: 200,
      error: null,
      input: 100,
      output: 20,
      cached: 30,
      origin: "upstream",
      run: "fresh",
    });
    expect(row?.["first_ms"]).toBeLessThanOrEqual(row?.["ms"] as number);
    const [gate, parse, credential, checkpoint, open, frame, model] = String(row?.["phases"]).split(",");
    for (const phase of [gate, parse, credential, checkpoint, frame, model]) expect(phase).toMatch(/^[\d.]+$/);
    expect(open).toBe("");
  });

  it("shares its conversation with the turns that follow, after a restart too, and with no other", async () => {
    const { gateway, answerOf, rows } = await setUp();
    const opening = [user("@sim say one")];
    const first = await answerOf(opening);
    await gateway.restart();
    await answerOf([...opening, first, user("@sim say two")]);
    await answerOf([user("@sim say another one")]);
    const [one, two, other] = (await rows("request")).map((row) => row["conversation"]);
    expect(two).toBe(one);
    expect(other).not.toBe(one);
  });

  it("shares no conversation with an equal chat of another key", async () => {
    const { gateway, ask, rows } = await setUp();
    const alice = (await addKey(gateway.home, "alice", { account: undefined, limits: { usage: [] } })).reveal();
    const headers = { authorization: `Bearer ${alice}`, "content-type": "application/json" };
    const opening = [user("@sim say one")];
    const chat = [...opening, { role: "assistant", content: "one" }, user("@sim say two")];
    for (const messages of [opening, chat]) {
      await (await ask(messages)).text();
      await (await ask(messages, {}, { headers })).text();
    }
    const [owners, alices, owners2, alices2] = (await rows("request")).map((row) => row["conversation"]);
    expect([owners2, alices2]).toEqual([owners, alices]);
    expect(alices).not.toBe(owners);
  });

  it("gets what the upstream charges when the client leaves in the middle", async () => {
    const { ask, rows, charged } = await setUp();
    const abort = new AbortController();
    const response = await ask(
      [user("@sim say a few words first ;; silent 60000 ;; say never")],
      { stream: true },
      { signal: abort.signal },
    );
    await response.body?.getReader().read();
    abort.abort();
    const [charge] = await charged(1);
    const [row] = await rows("request");
    expect(row).toMatchObject({ status: 499, error: "client_gone", origin: "upstream", output: 4 });
    expect(row).toMatchObject({ input: charge?.inputTokens, output: charge?.outputTokens });
    const [run] = await rows("run");
    expect(run).toMatchObject({ outcome: "cancelled", origin: "upstream", input: charge?.inputTokens, output: 4 });
  });

  it("gets what the upstream charges when a parked run is cancelled", async () => {
    const { answerOf, rows } = await setUp();
    await answerOf([user("@sim call look {} ;; say {{result}}")], { tools: TOOLS });
    // The gateway stops while the run is parked.
    const [row] = await rows("request");
    const [charge] = await chargesOf();
    expect(row).toMatchObject({
      run: "fresh",
      origin: "upstream",
      input: charge?.inputTokens,
      output: charge?.outputTokens,
    });
    expect((await rows("run"))[0]).toMatchObject({
      outcome: "cancelled",
      origin: "upstream",
      input: charge?.inputTokens,
    });
  });

  it("says that its run was resumed, and gets the rest of what the whole run used", async () => {
    const { answerOf, rows } = await setUp();
    const opening = [user("@sim usage 500 40 ;; call look {} ;; say {{result}}")];
    const call = await answerOf(opening, { tools: TOOLS });
    const [{ id }] = call["tool_calls"] as [{ id: string }];
    await answerOf([...opening, call, { role: "tool", tool_call_id: id, content: "seen" }], { tools: TOOLS });
    const all = await rows("request");
    expect(all.map(({ run }) => run)).toEqual(["fresh", "resumed"]);
    expect(all.map(({ origin }) => origin)).toEqual(["estimate", "upstream"]);
    const sum = (column: string) => all.reduce((total, row) => total + (row[column] as number), 0);
    expect([sum("input"), sum("output")]).toEqual([500, 40]);
    expect(new Set(all.map(({ conversation }) => conversation)).size).toBe(1);
    expect(all[1]?.["phases"]).toMatch(/,[\d.]+$/);
  });

  it("says why its run was replayed", async () => {
    const { gateway, answerOf, rows } = await setUp();
    const opening = [user("@sim call look {} ;; say {{result}}")];
    const call = await answerOf(opening, { tools: TOOLS });
    const [{ id }] = call["tool_calls"] as [{ id: string }];
    await gateway.restart();
    await answerOf([...opening, call, { role: "tool", tool_call_id: id, content: "seen" }], { tools: TOOLS });
    const [, second] = await rows("request");
    expect(second).toMatchObject({ run: "replayed", run_reason: "unknown" });
  });

  it("is there if it failed, without usage if nothing was used", async () => {
    const { ask, rows } = await setUp();
    await ask([user("@sim fail resource_exhausted")]);
    await ask([], { model: 5 });
    const all = await rows("request");
    expect(all.map(({ status }) => status)).toEqual([429, 400]);
    expect(all.map(({ input }) => input)).toEqual([null, null]);
    expect(all[1]?.["error"]).toEqual(expect.any(String));
  });

  it("is not kept for strangers and health checks", async () => {
    const { gateway, ask, rows } = await setUp();
    await fetch(`${gateway.url}/healthz`);
    await ask([user("hi")], {}, { headers: { authorization: "Bearer wrong", "content-type": "application/json" } });
    expect(await rows("request")).toEqual([]);
  });
});

describe("a tool call in the usage record", () => {
  it("has its tool, its times, its outcome and the size of the result, and never its content", async () => {
    const { answerOf, rows } = await setUp();
    const opening = [user("@sim call look {} ;; say {{result}}")];
    const call = await answerOf(opening, { tools: TOOLS });
    const [{ id }] = call["tool_calls"] as [{ id: string }];
    await answerOf([...opening, call, { role: "tool", tool_call_id: id, content: "a secret" }], { tools: TOOLS });
    const [row, ...more] = await rows("tool_call");
    expect(more).toEqual([]);
    expect(row).toMatchObject({ call_id: id, tool: "look", ran_by: "client", outcome: "answered", bytes: 8 });
    expect(row?.["answered_at"]).toBeGreaterThanOrEqual(row?.["asked_at"] as number);
    expect(JSON.stringify(row)).not.toContain("secret");
  });

  it("is lost when the gateway stops, and replayed when its result comes later", async () => {
    const { answerOf, rows } = await setUp();
    const opening = [user("@sim call look {} ;; say {{result}}")];
    const call = await answerOf(opening, { tools: TOOLS });
    const [{ id }] = call["tool_calls"] as [{ id: string }];
    expect(await rows("tool_call")).toMatchObject([{ outcome: "lost", answered_at: null }]);
    await answerOf([...opening, call, { role: "tool", tool_call_id: id, content: "seen" }], { tools: TOOLS });
    expect(await rows("tool_call")).toMatchObject([{ outcome: "replayed" }]);
  });
});

describe("a run in the usage record", () => {
  it("has its requests, what it began with, how long it waited, and what it used as a whole", async () => {
    const { answerOf, rows } = await setUp();
    const opening = [user("@sim usage 500 40 ;; call look {} ;; say {{result}}")];
    const call = await answerOf(opening, { tools: TOOLS });
    const [{ id }] = call["tool_calls"] as [{ id: string }];
    const asked = [...opening, call, { role: "tool", tool_call_id: id, content: "seen" }];
    const answer = await answerOf(asked, { tools: TOOLS });
    await answerOf([...asked, answer, user("@sim usage 600 5 ;; say more")], { tools: TOOLS });
    const requests = await rows("request");
    const [first, second, ...more] = await rows("run");
    expect(more).toEqual([]);
    const ids = requests.map((row) => row["id"]);
    expect(first).toMatchObject({
      requests: ids.slice(0, 2).join(","),
      principal: "owner",
      driver: "cursor",
      model: "gpt-5.5",
      conversation: requests[0]?.["conversation"],
      start: "fresh",
      outcome: "completed",
      input: 500,
      output: 40,
      origin: "upstream",
    });
    expect(first?.["parked_ms"]).toBeLessThanOrEqual(first?.["ms"] as number);
    expect(second).toMatchObject({ requests: ids[2], start: "resumed", input: 600, output: 5 });
    const [later, earlier] = await chargesOf();
    const upstream = (row: Readonly<Record<string, unknown>> | undefined) =>
      Buffer.from(row?.["upstream_conversation"] as Uint8Array).toString("hex");
    expect(upstream(first)).toBe(earlier?.conversationId.replaceAll("-", ""));
    expect(upstream(second)).toBe(later?.conversationId.replaceAll("-", ""));
  });

  it("says why it had to be replayed, and that it failed", async () => {
    const { gateway, ask, answerOf, rows } = await setUp();
    const opening = [user("@sim call look {} ;; say {{result}}")];
    const call = await answerOf(opening, { tools: TOOLS });
    const [{ id }] = call["tool_calls"] as [{ id: string }];
    await gateway.restart();
    await answerOf([...opening, call, { role: "tool", tool_call_id: id, content: "seen" }], { tools: TOOLS });
    await answerOf([user("hi"), { role: "assistant", content: "hello" }, user("@sim say anew")]);
    await ask([user("@sim fail resource_exhausted")]);
    expect(await rows("run")).toMatchObject([
      { start: "fresh", outcome: "cancelled" },
      { start: "replayed", start_reason: "unknown", outcome: "completed" },
      { start: "replayed", start_reason: "no-checkpoint", outcome: "completed" },
      { start: "fresh", outcome: "failed", input: null },
    ]);
  });
});
