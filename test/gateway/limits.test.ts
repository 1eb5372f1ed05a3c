import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { addKey, type KeyLimits } from "../../src/server/gate/keys/gateway-keys.ts";
import { excursor } from "../cli/support/excursor.ts";
import { setUpGateway } from "./support/gateway-process.ts";
import { answersTo, type Messages, TOOLS } from "./support/tool-client.ts";

/** A gateway process, and the clients of a key with these limits. */
async function setUp(usage: string[], more: Partial<KeyLimits> = {}) {
  const stage = await setUpGateway();
  const apiKey = (await addKey(stage.home, "alice", { account: undefined, limits: { usage, ...more } })).reveal();
  const gateway = await stage.start();
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
  const say = (content: string, from = openai, options: OpenAI.RequestOptions = {}) =>
    from.chat.completions.create({ model: "gpt-5.5", messages: [{ role: "user", content }] }, options);
  const limits = async (...args: string[]) => {
    const { stdout } = await excursor(["limits", ...args, "--json"], { environment: { EXCURSOR_HOME: stage.home } })
      .exited;
    return JSON.parse(stdout) as unknown;
  };
  return { ...stage, gateway, openai, anthropic, say, limits, apiKey };
}

const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("It was answered."),
    (error: unknown) => error,
  );

type Set = Awaited<ReturnType<typeof setUp>>;

/** Each face by its own SDK: whole, and streamed to the end. */
const FACES = {
  "chat completions": {
    refused: { status: 429, code: "insufficient_quota", type: "insufficient_quota" },
    ended: { code: "insufficient_quota", type: "insufficient_quota" },
    ask: ({ say }: Set, content: string) => say(content),
    stream: async ({ openai }: Set, content: string, seen: string[]) => {
      const messages = [{ role: "user" as const, content }];
      for await (const { choices } of await openai.chat.completions.create({
        model: "gpt-5.5",
        messages,
        stream: true,
      })) {
        seen.push(choices[0]?.finish_reason ?? "delta");
      }
    },
  },
  responses: {
    refused: { status: 429, code: "insufficient_quota", type: "insufficient_quota" },
    ended: { code: "insufficient_quota" },
    ask: ({ openai }: Set, input: string) => openai.responses.create({ model: "gpt-5.5", input }),
    stream: async ({ openai }: Set, input: string, seen: string[]) => {
      for await (const event of await openai.responses.create({ model: "gpt-5.5", input, stream: true })) {
        seen.push(event.type === "response.output_text.delta" ? "delta" : event.type);
        // Its SDK hands the event on instead of throwing.
        if (event.type === "response.failed") throw event.response.error;
      }
    },
  },
  messages: {
    refused: { status: 429, error: { error: { type: "rate_limit_error" } } },
    ended: { error: { error: { type: "rate_limit_error" } } },
    ask: ({ anthropic }: Set, content: string) =>
      anthropic.messages.create({ model: "gpt-5.5", max_tokens: 20_000, messages: [{ role: "user", content }] }),
    stream: async ({ anthropic }: Set, content: string, seen: string[]) => {
      const messages = [{ role: "user" as const, content }];
      const request = { model: "gpt-5.5", max_tokens: 20_000, messages, stream: true } as const;
      for await (const event of await anthropic.messages.create(request)) {
        seen.push(event.type === "content_block_delta" ? "delta" : event.type);
      }
    },
  },
};

describe("a gateway process holds its keys to their limits", { timeout: 60_000 }, () => {
  it.each(Object.entries(FACES))("in the words of %s", async (_, { ask, stream, refused, ended }) => {
    const set = await setUp(["500 tokens/day"]);
    const seen: string[] = [];
    expect(await failure(stream(set, "@sim tokens 100000", seen))).toMatchObject({
      ...ended,
      message: expect.stringMatching(/500 tokens in one day \(UTC\), and has used \d+ tokens.* It resets at 20/),
    });
    expect(seen.filter((type) => type === "delta").length).toBeGreaterThan(5);
    expect(seen.join()).not.toMatch(/length|incomplete|message_stop|completed/);
    await expect.poll(() => set.simStats().openRuns).toBe(0);
    expect(await failure(ask(set, "@sim say more"))).toMatchObject({
      ...refused,
      headers: expect.toSatisfy((headers: Headers) => headers.get("x-should-retry") === "false"),
      message: expect.stringContaining("500 tokens in one day"),
    });
  });

  it("with 50 requests at once, from the first moment and after a restart: by no more than one reservation", async () => {
    const { say, gateway, start, limits, apiKey } = await setUp(["1000 tokens/day"]);
    let client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
    const statuses: unknown[] = [];
    const burst = async () => {
      const asked = Array.from({ length: 50 }, () => say("@sim usage 30 10 ;; say hello", client));
      for (const { status, reason } of (await Promise.allSettled(asked)) as PromiseRejectedResult[]) {
        statuses.push((status as string) === "fulfilled" ? 200 : reason.code);
      }
    };
    await burst();
    await gateway.stop();
    client = new OpenAI({ baseURL: `${(await start()).url}/v1`, apiKey, maxRetries: 0 });
    for (let round = 0; round < 10 && !statuses.includes("insufficient_quota"); round++) await burst();
    expect(statuses).toContain("limit_reserved");
    const used = 40 * statuses.filter((status) => status === 200).length;
    expect(used).toBeGreaterThanOrEqual(1000);
    expect(used).toBeLessThanOrEqual(1100);
    await expect
      .poll(() => limits("list"), { timeout: 30_000, interval: 500 })
      .toMatchObject([
        { key: "alice", limit: "1000 tokens/day", used: `${used} tokens`, isReached: true, onLimit: "end" },
      ]);
  });

  it("when the client leaves in the middle: what was sent is counted", async () => {
    const { openai, say, limits, simStats } = await setUp(["300 tokens/day"]);
    let leaves = 0;
    for (; leaves < 50; leaves++) {
      const messages = [{ role: "user" as const, content: `@sim tokens 100000 5\n${"word ".repeat(40)}` }];
      const request = openai.chat.completions.create({ model: "gpt-5.5", messages, stream: true });
      const stream = await request.catch(() => undefined);
      if (!stream) break;
      for await (const _ of stream) break;
      stream.controller.abort();
      await expect.poll(() => simStats().openRuns).toBe(0);
    }
    expect(leaves).toBeGreaterThan(1);
    expect(leaves).toBeLessThan(8);
    expect(await failure(say("@sim say more"))).toMatchObject({ code: "insufficient_quota" });
    await expect
      .poll(() => limits("list"), { timeout: 30_000, interval: 500 })
      .toMatchObject([{ used: expect.stringMatching(/^[3-9]\d\d tokens$/), isReached: true }]);
  });

  it("pausing a tool loop that reaches one, until it is lifted", async () => {
    const set = await setUp(["5000 tokens/day"], { onLimit: "pause" });
    const { openai, say, limits, simStats, trace } = set;
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}}' }];
    const ask = () => openai.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
    const answer = (await ask()).choices[0]?.message ?? expect.fail("no answer");
    messages.push(answer, ...answersTo(answer));
    await say("@sim usage 5000 1 ;; say hello");
    for (let again = 0; again < 2; again++) {
      expect(await failure(ask())).toMatchObject({
        status: 429,
        code: "insufficient_quota",
        message: expect.stringMatching(/5000 tokens in one day.*excursor limits lift alice/s),
        headers: expect.toSatisfy((headers: Headers) => headers.get("x-should-retry") === "false"),
      });
    }
    expect(simStats().openRuns).toBe(1);
    expect(await limits("lift", "alice")).toMatchObject({ key: "alice" });
    expect((await ask()).choices[0]?.message.content).toBe("saw a");
    // It went on, and was not replayed: the backend has seen the tool loop as one run.
    expect(set.gateway.log()).not.toContain('"event":"replayed"');
    expect(trace.length).toBeGreaterThan(0);
  });

  it("ending a tool loop that reaches one, if they are not to pause it, and its run with it", async () => {
    const { openai, say, limits, simStats } = await setUp(["5000 tokens/day"]);
    const messages: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; wait ;; call look {"at":"b"} ;; say done' },
    ];
    const step = async () => {
      const { choices } = await openai.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
      const answer = choices[0]?.message ?? expect.fail("no answer");
      messages.push(answer, ...answersTo(answer));
    };
    await step();
    await step();
    await say("@sim usage 5000 1 ;; say hello");
    expect(await failure(step())).toMatchObject({
      status: 429,
      message: expect.stringMatching(/5000 tokens in one day \(UTC\), and has used/),
    });
    await expect.poll(() => simStats().openRuns).toBe(0);
    await limits("lift", "alice");
    await step();
    expect(messages.at(-1)).toMatchObject({ content: "done" });
  });

  it("by conversation: one that has reached it is refused, and another is not", async () => {
    const { openai, say, limits } = await setUp(["1000 tokens/conversation"]);
    const messages: Messages = [{ role: "user", content: "@sim usage 900 200 ;; say hello" }];
    const ask = () => openai.chat.completions.create({ model: "gpt-5.5", messages });
    messages.push((await ask()).choices[0]?.message ?? expect.fail("no answer"));
    messages.push({ role: "user", content: "@sim say more" });
    expect(await failure(ask())).toMatchObject({
      status: 429,
      message: expect.stringMatching(/1000 tokens in a conversation, and has used 1100 tokens. It does not reset/),
    });
    await say("@sim say other");
    expect(await limits("list")).toMatchObject([{ limit: "1000 tokens/conversation", used: null, resetsAt: null }]);
  });
});
