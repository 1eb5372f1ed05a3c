import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { addKey } from "../../../src/server/gate/keys/gateway-keys.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { type CountingProxy, startCountingProxy } from "../support/counting-proxy.ts";
import { type OwnNode, openOwnCluster } from "../support/own-cluster.ts";
import { hasRedis } from "../support/redis-process.ts";

const SERVER = fileURLToPath(new URL("../../mcp/support/scripted-server.ts", import.meta.url));

const MODEL = "gpt-5.5";
const LIMITS = { usage: ["1000000 tokens/day", "500 steps/conversation", "10000 requests/minute"], streams: 9 };

type Json = Record<string, unknown>;

/** How one API asks. The second request continues the conversation of the first, and is streamed. */
interface Dialect {
  readonly first: (prompt: string) => { readonly path: string; readonly body: Json };
  readonly next: (answer: Json, first: string, prompt: string) => { readonly path: string; readonly body: Json };
}

const user = (content: string) => ({ role: "user", content });
const part = (text: string) => ({ role: "user", parts: [{ text }] });
const THINKS = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
const BUDGET = { max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 1024 } };

const DIALECTS: Readonly<Record<string, Dialect>> = {
  "Chat Completions": {
    first: (prompt) => ({ path: "/v1/chat/completions", body: { model: MODEL, messages: [user(prompt)] } }),
    next: ({ choices }, first, prompt) => ({
      path: "/v1/chat/completions",
      body: {
        model: MODEL,
        stream: true,
        messages: [user(first), (choices as { message: Json }[])[0]?.message, user(prompt)],
      },
    }),
  },
  Responses: {
    first: (prompt) => ({ path: "/v1/responses", body: { model: MODEL, input: prompt } }),
    next: ({ id }, _, prompt) => ({
      path: "/v1/responses",
      body: { model: MODEL, stream: true, input: prompt, previous_response_id: id },
    }),
  },
  Messages: {
    first: (prompt) => ({ path: "/v1/messages", body: { model: MODEL, messages: [user(prompt)], ...BUDGET } }),
    next: ({ content }, first, prompt) => ({
      path: "/v1/messages",
      body: {
        model: MODEL,
        stream: true,
        messages: [user(first), { role: "assistant", content }, user(prompt)],
        ...BUDGET,
      },
    }),
  },
  Gemini: {
    first: (prompt) => ({
      path: `/v1beta/models/${MODEL}:generateContent`,
      body: { contents: [part(prompt)], ...THINKS },
    }),
    next: ({ candidates }, first, prompt) => ({
      path: `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`,
      body: { contents: [part(first), (candidates as { content: Json }[])[0]?.content, part(prompt)], ...THINKS },
    }),
  },
};

const hubPrompt = (word: string) =>
  `@sim think about ${word} ;; call srv__echo {"a":"${word}"} ;; say made ${word} of {{result}}`;

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/** A streamed turn with limits and thinking, on another gateway than the one before. */
describe.skipIf(!hasRedis)("the round trips to Redis of a turn", () => {
  let one: OwnNode;
  let other: OwnNode;
  let proxy: CountingProxy;
  let key: string;

  beforeAll(async () => {
    // A busy machine makes replies late, and what is late is asked again.
    const cluster = await openOwnCluster(defer, {}, { EXCURSOR_LIMITS_REDIS_MS: "5000" });
    proxy = await startCountingProxy(cluster.redis.port, defer);
    const homes = [0, 1].map(() => mkdtempSync(join(tmpdir(), "excursor-trips-")));
    for (const home of homes) {
      defer(() => rmSync(home, { recursive: true, force: true }));
      const mcpServers = { srv: { command: process.execPath, args: [SERVER] } };
      writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers, keys: { "*": ["srv"] } }), { mode: 0o600 });
    }
    const [first = "", second = ""] = homes;
    one = await cluster.open("one", { EXCURSOR_HOME: first });
    other = await cluster.open("other", { EXCURSOR_HOME: second, EXCURSOR_CLUSTER_REDIS: proxy.url });
    key = (await addKey(first, "alice", { account: undefined, limits: LIMITS })).reveal();
    for (const node of [one, other]) {
      const ask = () => send(node, "/v1/chat/completions", { model: MODEL, messages: [user(hubPrompt("warm"))] });
      await vi.waitFor(async () => expect((await ask()).text).toContain("made warm"), {
        timeout: 30_000,
        interval: 200,
      });
    }
  }, 60_000);

  const send = async (node: OwnNode, path: string, body: Json) => {
    const response = await fetch(`${node.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-excursor-tools": JSON.stringify(body).includes("srv__") ? "hub" : "client",
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };

  /** Waits until nothing more is written. The last checkpoint comes after the answer. */
  const quiet = async () => {
    for (let before = -1; before !== proxy.trips.length; ) {
      before = proxy.trips.length;
      await wait(500);
    }
  };

  /** Asks one gateway, and goes on with the other one. Returns the round trips of that. */
  const talk = async ({ first, next }: Dialect, begun: string, goesOn: string) => {
    const opening = first(begun);
    const { text } = await send(one, opening.path, opening.body);
    expect(text).toContain("made");
    await quiet();
    proxy.trips.length = 0;
    const { path, body } = next(JSON.parse(text) as Json, begun, goesOn);
    const answer = await send(other, path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.stringMatching(/made/)]);
    await quiet();
    return proxy.trips.map((trip) => trip.join(", "));
  };

  const failures = async () => {
    const metrics = await fetch(`${other.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
    return /redis_failures_total (\d+)/.exec(await metrics.text())?.[1];
  };

  /** Counts when Redis knows the scripts, and the gateways know what the key usually uses. */
  const count = async (dialect: Dialect, prompt: (word: string) => string) => {
    for (let round = 0; ; round++) {
      const before = await failures();
      const trips = await talk(dialect, prompt(`some ${round}`), prompt(`more ${round}`));
      // A late reply costs a write again.
      if (round > 2 && (await failures()) === before) return trips;
    }
  };

  it.each(Object.entries(DIALECTS))(
    "%s: 5 at most",
    async (name, dialect) => {
      const trips = await count(dialect, (word) => `@sim think of ${name} ${word} ;; say made ${word}`);
      expect(trips.length, trips.join("\n")).toBeLessThanOrEqual(5);
    },
    60_000,
  );

  it("none for a token: a long answer asks for more of its limits each time it has used twice as much", async () => {
    const dialect = DIALECTS["Chat Completions"] ?? expect.unreachable();
    const trips = await count(dialect, (word) => `@sim say made ${word} ${"of words ".repeat(1500)}`);
    expect(trips.length, trips.join("\n")).toBeLessThanOrEqual(10);
  }, 60_000);

  it.each(Object.entries(DIALECTS))(
    "%s, with a round of hub calls: 6 at most",
    async (name, dialect) => {
      const trips = await count(dialect, (word) => hubPrompt(`${name} ${word}`));
      expect(trips.length, trips.join("\n")).toBeLessThanOrEqual(6);
    },
    60_000,
  );
});
