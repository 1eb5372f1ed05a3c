import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { type Visitor, visit } from "../dashboard/support/open-dashboard.ts";
import { readFeed } from "../dashboard/support/read-feed.ts";
import { openOwnCluster } from "./support/own-cluster.ts";
import { hasRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const AGENT = fileURLToPath(new URL("../drivers/acp/support/scripted-agent.mjs", import.meta.url));
const agents = { mine: { command: process.execPath, args: [AGENT] } };

/** Two gateways with the same agent. The first one is asked; the owner looks at the dashboard of the second one. */
async function setUp() {
  const { open, redis } = await openOwnCluster(defer);
  const visitorOf = async (name: string): Promise<Visitor> => {
    const home = mkdtempSync(join(tmpdir(), "excursor-prompts-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    writeFileSync(join(home, "config.json"), JSON.stringify({ agents }), { mode: 0o600 });
    return visit(await open(name, { EXCURSOR_HOME: home }));
  };
  return { one: await visitorOf("one"), other: await visitorOf("other"), redis };
}

/** Keeps a page open. */
async function look({ url, cookie }: Visitor): Promise<() => void> {
  const stop = new AbortController();
  const feed = await fetch(`${url}/ui/api/feed`, { headers: { cookie }, signal: stop.signal });
  await feed.body?.getReader().read();
  return () => stop.abort();
}

const ask = async (visitor: Visitor, signal?: AbortSignal) => {
  const messages = [{ role: "user", content: "permission execute" }];
  const reply = await visitor.ask({ model: "acp:mine", messages }, signal ? { signal } : {});
  const { choices } = (await reply.json()) as {
    choices?: readonly { readonly message: { readonly content: string } }[];
  };
  return choices?.[0]?.message.content;
};

/** Asks until the question is shown: the gateway that is asked knows of the open page a moment after it was opened. */
async function untilAsked(one: Visitor, other: Visitor) {
  const shown = readFeed(other, ({ prompts }) => prompts.length === 1);
  for (;;) {
    const stop = new AbortController();
    const answer = ask(one, stop.signal).catch(() => undefined);
    const first = await Promise.race([answer, shown]);
    if (typeof first === "object") return { answer, prompts: first.prompts, stop };
  }
}

describe.skipIf(!hasRedis)("a question of an agent in a cluster", () => {
  it("is shown and answered on the dashboard of another gateway", async () => {
    const { one, other } = await setUp();
    const leave = await look(other);
    const { answer, prompts } = await untilAsked(one, other);
    expect(prompts).toMatchObject([{ from: "mine", node: "one" }]);
    const path = `/prompts/${prompts[0]?.id}`;
    expect(await (await other.get(path)).json()).toMatchObject({ from: "mine", title: "May I execute?" });
    expect((await other.send("POST", path, { option: "another" })).status).toBe(400);
    expect((await other.send("POST", path, { option: "yes" })).status).toBe(200);
    expect(await answer).toBe("yes");
    await readFeed(other, (message) => message.prompts.length === 0);
    expect((await other.send("POST", path, { option: "no" })).status).toBe(404);
    leave();
  }, 30_000);

  it("is shown on both dashboards, and withdrawn from both when its client leaves", async () => {
    const { one, other } = await setUp();
    const leaves = [await look(one), await look(other)];
    const { answer, stop } = await untilAsked(one, other);
    const { prompts } = await readFeed(one, (message) => message.prompts.length === 1);
    expect(prompts).toMatchObject([{ from: "mine", node: "one" }]);
    stop.abort();
    await answer;
    for (const visitor of [one, other]) await readFeed(visitor, (message) => message.prompts.length === 0);
    for (const leave of leaves) leave();
  }, 30_000);

  it("is gone from the other dashboards when its gateway is gone", async () => {
    const { one, other } = await setUp();
    const leave = await look(other);
    await untilAsked(one, other);
    await one.close(0);
    await readFeed(other, (message) => message.prompts.length === 0);
    leave();
  }, 30_000);

  it("does not keep a gateway from stopping when it is answered, even without Redis", async () => {
    const { one, other, redis } = await setUp();
    const leave = await look(other);
    const { answer, prompts } = await untilAsked(one, other);
    await other.send("POST", `/prompts/${prompts[0]?.id}`, { option: "yes" });
    await answer;
    await redis.kill();
    // Far longer than this test may take.
    await one.close(300_000);
    leave();
  }, 30_000);
});
