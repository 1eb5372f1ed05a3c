import { afterEach, describe, expect, it } from "vitest";
import { type Simulator, startSim } from "../../src/sim/server.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";

let sim: Simulator;

afterEach(() => sim.close());

async function setUp(...ownLimits: readonly string[]) {
  sim = await startSim();
  const gateway = await openOwnGateway({ upstream: sim.url, usage: { ownLimits } });
  const post = (path: string, body: object) =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-5.5", max_tokens: 100_000, ...body }),
    });
  const chat = (content: string, more: object = {}) =>
    post("/v1/chat/completions", { messages: [{ role: "user", content }], ...more });
  return { gateway, post, chat };
}

describe("a gateway with limits", () => {
  it("refuses what is past a limit in the words of each dialect, after a restart too", async () => {
    const { gateway, post, chat } = await setUp("1000 tokens/day");
    await (await chat("@sim usage 900 200 ;; say hello")).text();
    await gateway.restart();
    const refused = await chat("@sim say more");
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([429, "false"]);
    expect(await refused.json()).toMatchObject({
      error: {
        type: "insufficient_quota",
        code: "insufficient_quota",
        message: expect.stringContaining("used 1100 tokens"),
      },
    });
    const messages = await post("/v1/messages", { messages: [{ role: "user", content: "hi" }] });
    expect([messages.status, await messages.json()]).toMatchObject([
      429,
      { type: "error", error: { type: "rate_limit_error" } },
    ]);
  });

  it("ends an answer that reaches a limit with the error of its dialect", async () => {
    const { chat } = await setUp("500 tokens/total");
    const response = await chat("@sim tokens 100000 0", { stream: true });
    expect(response.status).toBe(200);
    const events = (await response.text()).trimEnd().split("\n\n");
    expect(events.length).toBeGreaterThan(5);
    expect(events.at(-1)).toContain('"code":"insufficient_quota"');
    expect(events.some((event) => event.includes('"finish_reason":"'))).toBe(false);
    expect((await chat("@sim say more")).status).toBe(429);
    await expect.poll(() => sim.stats().openRuns).toBe(0);
  });

  it("keeps a run that waits for tool results when the limit is reached meanwhile", async () => {
    const { gateway, post, chat } = await setUp("1000 tokens/conversation", "5000 tokens/day");
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
    const question = { role: "user", content: "@sim call look {} ;; say {{result}}" };
    const first = (await (await post("/v1/chat/completions", { messages: [question], tools })).json()) as {
      choices: [{ message: { tool_calls: [{ id: string }] } }];
    };
    await (await chat("@sim usage 5000 1 ;; say hello")).text();
    const { message } = first.choices[0];
    const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "seen" };
    const refused = await post("/v1/chat/completions", { messages: [question, message, result], tools });
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([429, "false"]);
    expect(sim.stats().openRuns).toBe(1);
    expect(gateway.log()).not.toContain('"event":"lost"');
  });

  it("refuses a limit in dollars for a model without a price", async () => {
    const { chat } = await setUp("$5/day");
    const refused = await chat("@sim say hello", { model: "auto" });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("no_price")]);
    expect((await chat("@sim say hello")).status).toBe(200);
  });
});
