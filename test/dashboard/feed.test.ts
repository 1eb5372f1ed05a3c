import { connect } from "node:net";
import { expect, it } from "vitest";
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
    socket.write(`GET /ui/api/feed HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncookie: ${visitor.cookie}\r\n\r\n`);
    let answer = "";
    for await (const chunk of socket) {
      answer += String(chunk);
      // Only now: whose connection it is can be told while it is open alone.
      socket.end();
    }
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  }
});
