import { connect } from "node:net";
import type OpenAI from "openai";
import { expect, it, onTestFinished } from "vitest";
import type { NowMessage } from "../../src/dashboard/messages.ts";
import { hasRedis, startRedis } from "../cluster/support/redis-process.ts";
import { openDashboard } from "./support/open-dashboard.ts";
import { readFeed } from "./support/read-feed.ts";

const TOOLS = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];

it("shows a request under way, with its phase and its tokens, and then its end", async () => {
  const visitor = await openDashboard();
  const stop = new AbortController();
  const content = "@sim tokens 100000 10";
  const asked = visitor.ask({ stream: true, messages: [{ role: "user", content }] }, { signal: stop.signal });
  const { requests } = await readFeed(visitor, (message) => (message.requests[0]?.outputTokens ?? 0) > 0);
  expect(requests[0]).toMatchObject({ model: "auto", key: "owner", route: "/v1/chat/completions", phase: "model" });
  await asked;
  stop.abort();
  const { recent } = await readFeed(visitor, (message) => message.requestCount === 0 && message.recent.length > 0);
  expect(recent[0]).toMatchObject({ status: 499, model: "auto" });
});

it("shows a parked run, and drops it", async () => {
  const visitor = await openDashboard();
  await (await visitor.ask({ tools: TOOLS, messages: [{ role: "user", content: "@sim call look {}" }] })).json();
  const { parked } = await readFeed(visitor, ({ parkedCount }) => parkedCount === 1);
  expect(parked[0]).toMatchObject({ model: "auto", key: "owner", tools: ["look"] });
  expect((await visitor.send("DELETE", `/runs/${parked[0]?.id}`)).status).toBe(200);
  await readFeed(visitor, ({ parkedCount }) => parkedCount === 0);
});

it.skipIf(!hasRedis)(
  "shows the gateways of a cluster, their parked runs and forwards, and that Redis is away",
  async () => {
    const redis = await startRedis((cleanup) => onTestFinished(async () => void (await cleanup())));
    const open = (node: string) => openDashboard({ cluster: { redis: redis.url, node } });
    const [a, b] = [await open("a"), await open("b")];
    const figuresOf = ({ cluster }: NowMessage) =>
      cluster?.nodes.map(({ name, parkedRuns, forwarded, served }) => [name, parkedRuns, forwarded, served]);
    const shows = (figures: readonly unknown[]) => (message: NowMessage) =>
      JSON.stringify(figuresOf(message)) === JSON.stringify(figures);
    const question = { role: "user", content: "@sim call look {} ;; say done" };
    const asked = await (await a.ask({ tools: TOOLS, messages: [question] })).json();
    const { message } = (asked as OpenAI.ChatCompletion).choices[0] ?? expect.unreachable();
    const { cluster } = await readFeed(
      b,
      shows([
        ["a", 1, 0, 0],
        ["b", 0, 0, 0],
      ]),
    );
    expect(cluster).toMatchObject({ node: "b", isRedisUp: true });
    const result = { role: "tool", tool_call_id: message.tool_calls?.[0]?.id, content: "seen" };
    expect((await b.ask({ tools: TOOLS, messages: [question, message, result] })).status).toBe(200);
    await readFeed(
      a,
      shows([
        ["a", 0, 0, 1],
        ["b", 0, 1, 0],
      ]),
    );
    await redis.kill();
    await readFeed(a, (now) => now.cluster?.isRedisUp === false);
  },
  60_000,
);

it("ends with the session", async () => {
  const visitor = await openDashboard();
  const feed = await fetch(`${visitor.url}/ui/api/feed`, { headers: { cookie: visitor.cookie } });
  await visitor.send("DELETE", "/session");
  expect(await feed.text()).toMatch(/event: over/);
});

it("does not keep the gateway from stopping, nor opens again while it stops (REL-35)", async () => {
  const visitor = await openDashboard({ limits: { drainMs: 3_600_000 } });
  const feed = await fetch(`${visitor.url}/ui/api/feed`, { headers: { cookie: visitor.cookie } });
  const stop = new AbortController();
  const content = "@sim tokens 100000 10";
  await visitor.ask({ stream: true, messages: [{ role: "user", content }] }, { signal: stop.signal });
  const closed = visitor.close();
  await feed.text();
  const again = await visitor.get("/feed");
  expect(again.status).toBe(503);
  await again.text();
  stop.abort();
  await closed;
});

it("is open a bounded number of times", async () => {
  const visitor = await openDashboard();
  const stop = new AbortController();
  const open = () => fetch(`${visitor.url}/ui/api/feed`, { headers: { cookie: visitor.cookie }, signal: stop.signal });
  // The answers are kept: `fetch` closes the connection of an answer that the garbage collector takes.
  const answers: Response[] = [];
  for (let count = 0; count < 5; count++) answers.push(await open());
  expect(answers.map(({ status }) => status)).toEqual([...Array(4).fill(200), 429]);
  stop.abort();
});

it("is free again as soon as a page closes its side of the connection", async () => {
  const visitor = await openDashboard();
  const { port } = new URL(visitor.url);
  for (let count = 0; count < 9; count++) {
    const socket = connect(Number(port), "127.0.0.1");
    socket.end(`GET /ui/api/feed HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncookie: ${visitor.cookie}\r\n\r\n`);
    let answer = "";
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  }
});
