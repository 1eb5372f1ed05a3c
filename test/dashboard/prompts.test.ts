import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import type { Question } from "../../src/core/activity.ts";
import { OwnerPrompts } from "../../src/core/owner-prompts.ts";
import { openDashboard, type Visitor } from "./support/open-dashboard.ts";
import { readFeed } from "./support/read-feed.ts";

const AGENT = fileURLToPath(new URL("../drivers/acp/support/scripted-agent.mjs", import.meta.url));
const agents = {
  mine: { command: process.execPath, args: [AGENT], displayName: "Mine" },
  broken: { command: process.execPath, args: [AGENT, "--exit-at-start"] },
  strict: { command: process.execPath, args: [AGENT], permissions: "deny" },
};

const ask = async (visitor: Visitor, agent: string, content: string) => {
  const reply = await visitor.ask({ model: `acp:${agent}`, messages: [{ role: "user", content }] });
  const { choices } = (await reply.json()) as {
    choices?: readonly { readonly message: { readonly content: string } }[];
  };
  return choices?.[0]?.message.content;
};

const json = async (reply: Promise<Response>) => (await reply).json();

/** Opens the feed, as a page does. */
async function look({ url, cookie }: Visitor): Promise<() => void> {
  const stop = new AbortController();
  const feed = await fetch(`${url}/ui/api/feed`, { headers: { cookie }, signal: stop.signal });
  await feed.body?.getReader().read();
  return () => stop.abort();
}

describe("the question of an agent", () => {
  it("is answered on the dashboard, for a client that cannot ask", async () => {
    const visitor = await openDashboard({ agents });
    const leave = await look(visitor);
    const answer = ask(visitor, "mine", "permission execute");
    const { prompts } = await readFeed(visitor, (message) => message.prompts.length > 0);
    expect(prompts).toMatchObject([{ from: "mine" }]);
    const path = `/prompts/${prompts[0]?.id}`;
    expect(await json(visitor.get(path))).toMatchObject({
      from: "mine",
      title: "May I execute?",
      kind: "execute",
      options: [
        { id: "always", isAllowed: true },
        { id: "yes", name: "Yes", isAllowed: true },
        { id: "no", name: "No", isAllowed: false },
      ],
    });
    expect((await visitor.send("POST", path, { option: "another" })).status).toBe(400);
    expect((await visitor.send("POST", path, { option: "yes" }, { "x-excursor-csrf": "wrong" })).status).toBe(403);
    expect((await visitor.send("POST", path, { option: "yes" })).status).toBe(200);
    expect(await answer).toBe("yes");
    expect((await visitor.send("POST", path, { option: "no" })).status).toBe(404);
    await readFeed(visitor, (message) => message.prompts.length === 0);
    leave();
  });

  it("is declined if no page is open, and if the settings deny it", async () => {
    const visitor = await openDashboard({ agents });
    expect(await ask(visitor, "mine", "permission execute")).toBe("no");
    const leave = await look(visitor);
    expect(await ask(visitor, "strict", "permission execute")).toBe("no");
    leave();
  });

  it("is withdrawn when its client leaves", async () => {
    const visitor = await openDashboard({ agents });
    const leave = await look(visitor);
    const stop = new AbortController();
    const messages = [{ role: "user", content: "permission execute" }];
    const answer = visitor.ask({ model: "acp:mine", messages }, { signal: stop.signal }).catch(() => {});
    await readFeed(visitor, ({ prompts }) => prompts.length === 1);
    stop.abort();
    await answer;
    await readFeed(visitor, ({ prompts }) => prompts.length === 0);
    leave();
  });

  it("is declined a while after the last page has left", () => {
    vi.useFakeTimers();
    try {
      const prompts = new OwnerPrompts();
      const answer = vi.fn();
      const question: Question = { type: "question", id: "1", title: "?", options: [], detail: {}, answer };
      const [first, second] = [prompts.attend(), prompts.attend()];
      prompts.add({ from: "mine", question });
      first();
      first();
      vi.advanceTimersByTime(60_000);
      expect([prompts.canAsk, answer.mock.calls.length]).toEqual([true, 0]);
      second();
      expect(prompts.canAsk).toBe(false);
      vi.advanceTimersByTime(29_000);
      // A page that is loaded again.
      const third = prompts.attend();
      vi.advanceTimersByTime(60_000);
      expect(answer).not.toHaveBeenCalled();
      third();
      vi.advanceTimersByTime(30_000);
      expect(answer.mock.calls).toEqual([[undefined]]);
    } finally {
      vi.useRealTimers();
    }
  });
});

it("agents are listed with the states of their programs", async () => {
  const visitor = await openDashboard({ agents: { ...agents, wrong: { command: "x", allow: ["everything"] } } });
  const states = async () => {
    const { agents: rows } = (await json(visitor.get("/agents"))) as {
      readonly agents: readonly { readonly model: string; readonly state: string; readonly problem: string | null }[];
    };
    return new Map(rows.map(({ model, state, problem }) => [model, [state, problem]]));
  };
  expect((await states()).get("acp:mine")).toEqual(["stopped", null]);
  expect((await states()).get("acp:wrong")).toEqual(["failed", expect.stringContaining("allow")]);
  await ask(visitor, "mine", "say hello");
  expect((await states()).get("acp:mine")).toEqual(["running", null]);
  await ask(visitor, "mine", "crash");
  expect((await states()).get("acp:mine")).toEqual(["failed", expect.stringContaining("mine")]);
  await ask(visitor, "broken", "say hello");
  expect((await states()).get("acp:broken")).toEqual(["failed", expect.stringContaining("broken")]);
  await ask(visitor, "mine", "say hello");
  expect((await states()).get("acp:mine")).toEqual(["running", null]);
});
