import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { Message } from "../../../src/core/turn.ts";
import { createOpenAiDriver } from "../../../src/drivers/openai/driver.ts";
import { chatRequest } from "../../../src/drivers/openai/request.ts";
import { aTurn, gather, textIn } from "../../core/support/turns.ts";
import { replyJson, replyStream } from "../support/api-server.ts";
import { ask, driverOptions, failureOf, ignoredIn, LOOK, openRun, timeless } from "../support/open-driver.ts";
import { errorBody, type Reply, startOpenAiServer, streamOf } from "../support/openai-server.ts";

const call = (index: number, id: string | undefined, name: string | undefined, args: string) => ({
  tool_calls: [{ index, ...(id && { id, type: "function" }), function: { ...(name && { name }), arguments: args } }],
});

async function setUp(...replies: Reply[]) {
  const server = await startOpenAiServer(...replies);
  return { ...server, driver: createOpenAiDriver(driverOptions(`${server.url}/v1/`)) };
}

/** Neighbours of one kind joined, since nobody promises where they are cut. */
function joined(events: readonly TurnEvent[]): TurnEvent[] {
  const out: TurnEvent[] = [];
  for (const event of timeless(events)) {
    const last = out.at(-1);
    const isMore = (event.type === "text" || event.type === "thinking") && last?.type === event.type;
    if (isMore) out[out.length - 1] = { ...event, text: last.text + event.text };
    else out.push(event);
  }
  return out;
}

const usage = {
  type: "usage",
  usage: {
    inputTokens: 19,
    outputTokens: 10,
    cachedTokens: 8,
    cacheWrittenTokens: 0,
    reasoningTokens: 4,
    isEstimate: false,
  },
};
const thought = { type: "thinking-done", durationMs: 0 };
const done = (reason: string) => ({ type: "done", reason });

describe("the mock", () => {
  it("is one that OpenAI's own client understands", async () => {
    const { url } = await startOpenAiServer([{ content: "Hel" }, { content: "lo" }]);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 });
    const { choices, usage: told } = await client.chat.completions
      .stream({ model: "llama-4", messages: [{ role: "user", content: "x" }], stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect([choices[0]?.message.content, choices[0]?.finish_reason, told?.total_tokens]).toEqual(["Hello", "stop", 29]);
  });
});

describe("the openai driver", () => {
  it.each<[string, readonly object[], readonly object[]]>([
    ["text", [{ content: "Hel" }, { content: "lo" }], [{ type: "text", text: "Hello" }, usage, done("stop")]],
    [
      "thinking, said twice in each delta",
      [{ reasoning_content: "h", reasoning: "h" }, { reasoning: "m" }, { content: "ok", reasoning_content: "" }],
      [{ type: "thinking", text: "hm" }, thought, { type: "text", text: "ok" }, usage, done("stop")],
    ],
    [
      "nothing but thinking",
      [{ reasoning_content: "hm" }],
      [{ type: "thinking", text: "hm" }, thought, usage, done("stop")],
    ],
    [
      "thinking between tags",
      [{ content: "<thi" }, { content: "nk>\nh" }, { content: "m</thin" }, { content: "k>\n\nok" }],
      [{ type: "thinking", text: "hm" }, thought, { type: "text", text: "ok" }, usage, done("stop")],
    ],
    [
      "a tag that is none",
      [{ content: "<thi" }, { content: "s> is" }],
      [{ type: "text", text: "<this> is" }, usage, done("stop")],
    ],
    [
      "tags that are never closed",
      [{ content: "<think>h" }, { content: "m" }],
      [{ type: "thinking", text: "hm" }, usage, thought, done("stop")],
    ],
    [
      "tags in code",
      [{ content: "```\n<think>\n" }, { content: "</think>\n```" }],
      [{ type: "text", text: "```\n<think>\n</think>\n```" }, usage, done("stop")],
    ],
    [
      "calls in pieces, two at once",
      [
        call(0, "a", "look", ""),
        call(0, undefined, undefined, '{"x"'),
        call(0, undefined, undefined, ":1}"),
        call(1, "b", "look", "{}"),
      ],
      [
        { type: "tool-call-start", id: "a", name: "look" },
        { type: "tool-call-delta", id: "a", json: '{"x"' },
        { type: "tool-call-delta", id: "a", json: ":1}" },
        { type: "tool-call-start", id: "b", name: "look" },
        { type: "tool-call-delta", id: "b", json: "{}" },
        { type: "tool-call", id: "a", name: "look", args: { x: 1 } },
        { type: "tool-call", id: "b", name: "look", args: {} },
        usage,
        done("tool-calls"),
      ],
    ],
    [
      "calls without index or id, and broken arguments",
      [{ tool_calls: [{ function: { name: "look", arguments: "{" } }] }],
      [
        { type: "tool-call-start", id: "call_0", name: "look" },
        { type: "tool-call-delta", id: "call_0", json: "{" },
        { type: "tool-call", id: "call_0", name: "look", args: { invalid_arguments: "{" } },
        usage,
        done("tool-calls"),
      ],
    ],
  ])("tells %s", async (_, deltas, expected) => {
    const { driver } = await setUp(deltas);
    expect(joined(await ask(driver, { tools: [LOOK] }))).toEqual(expected);
  });

  it("what may be a tag is not held back for long", async () => {
    const { driver } = await setUp((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        streamOf([{ content: "a\n<thi" }], "stop", "")
          .split('data: {"id"')
          .slice(0, 3)
          .join('data: {"id"'),
      );
    });
    let said = "";
    for await (const events of openRun(driver)) {
      said += textIn(events);
      if (said === "a\n<thi") break;
    }
    expect(said).toBe("a\n<thi");
  });

  it("takes a finished answer for finished, without [DONE] and after a cut", async () => {
    const { driver } = await setUp(
      (_, response) => replyStream(response, streamOf([{ content: "a" }], "length", "")),
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(streamOf([{ content: "b" }], "content_filter", ""), () => response.socket?.destroy());
      },
    );
    expect((await ask(driver)).at(-1)).toEqual(done("length"));
    expect((await ask(driver)).at(-1)).toEqual(done("content-filter"));
  });

  it("asks with all that a turn says", async () => {
    const { driver, calls } = await setUp([{ content: "ok" }]);
    const png = { type: "image", mediaType: "image/png", data: Buffer.from("png") } as const;
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "old" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "long ago", signature: undefined },
          { type: "text", text: "yes" },
        ],
      },
      {
        role: "user",
        content: [{ type: "text", text: "what is this?" }, png, { type: "file", name: "a.txt", text: "in it" }],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "just now", signature: "s" },
          { type: "tool-call", id: "c", name: "look", args: { a: 1 } },
        ],
      },
      { role: "tool", callId: "c", content: [{ type: "text", text: "seen" }, png], isError: false },
    ];
    await ask(driver, {
      model: { id: "llama-4", effort: "high" },
      system: "Be brief.",
      messages,
      tools: [LOOK],
      toolChoice: { type: "tool", name: "look" },
      allowsParallelCalls: false,
      maxOutputTokens: 9,
    });
    const image_url = { url: "data:image/png;base64,cG5n" };
    expect(calls[0]).toMatchObject({ path: "/v1/chat/completions", headers: { authorization: "Bearer sk-test" } });
    expect(calls[0]?.body).toEqual({
      model: "llama-4",
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: "high",
      max_tokens: 9,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "old" },
        { role: "assistant", content: "yes" },
        {
          role: "user",
          content: [
            { type: "text", text: "what is this?" },
            { type: "image_url", image_url },
            { type: "text", text: "a.txt\n\nin it" },
          ],
        },
        {
          role: "assistant",
          content: null,
          reasoning_content: "just now",
          tool_calls: [{ id: "c", type: "function", function: { name: "look", arguments: '{"a":1}' } }],
        },
        { role: "tool", tool_call_id: "c", content: "seen" },
        {
          role: "user",
          content: [
            { type: "text", text: "The images of these results:" },
            { type: "image_url", image_url },
          ],
        },
      ],
      tools: [{ type: "function", function: { name: "look", description: "looks", parameters: LOOK.schema } }],
      tool_choice: { type: "function", function: { name: "look" } },
      parallel_tool_calls: false,
    });
  });

  it("is told how to choose; what OpenAI itself does not know is not sent there", async () => {
    const sampling = { temperature: 0, top_p: 0.5, top_k: 3, min_p: 0.1, seed: 1, repetition_penalty: 1.1 };
    const { driver, calls } = await setUp([{ content: "ok" }]);
    expect(ignoredIn(await ask(driver, { model: { id: "llama-4", effort: "xhigh" }, sampling }))).toEqual(["effort"]);
    expect(calls[0]?.body).toMatchObject({ ...sampling, reasoning_effort: "high" });
    const options = { modelId: "gpt-5.5", effort: undefined, isOpenAi: true };
    const { body, ignored } = chatRequest(aTurn({ sampling }), options);
    expect(body).toMatchObject({ temperature: 0, top_p: 0.5, seed: 1 });
    expect(body).not.toHaveProperty("top_k");
    expect(ignored).toEqual(["top_k", "min_p", "repetition_penalty"]);
  });

  it("leaves out what is empty, and says itself that nothing is asked", async () => {
    const { driver, calls } = await setUp([{ content: "ok" }]);
    const says = (role: "user" | "assistant", ...texts: string[]): Message => ({
      role,
      content: texts.map((text) => ({ type: "text", text })),
    });
    await ask(driver, { messages: [says("user", ""), says("assistant", "hi"), says("user", "", "a")] });
    expect(calls[0]?.body.messages).toEqual([
      { role: "assistant", content: "hi" },
      { role: "user", content: "a" },
    ]);
    for (const messages of [[says("user", "")], [says("user", "a"), says("assistant", "b"), says("user")]]) {
      expect(await failureOf(ask(driver, { messages }))).toMatchObject({
        kind: "invalid-request",
        code: "empty_question",
      });
    }
    expect(calls).toHaveLength(1);
  });

  it("is asked again without what it refuses to be told, one after the other", async () => {
    const refusing =
      (message: string): Reply =>
      (_, response) =>
        replyJson(response, 400, errorBody("unsupported_value", message));
    const { driver, calls } = await setUp(
      refusing("Unrecognized request argument supplied: reasoning_effort"),
      refusing("Unsupported value: 'temperature' does not support 0 with this model."),
      [{ content: "ok" }],
    );
    const asked = { model: { id: "llama-4", effort: "low" }, sampling: { temperature: 0 } };
    expect(textIn(await ask(driver, asked))).toBe("ok");
    expect(calls.map(({ body }) => [body.reasoning_effort, body.temperature])).toEqual([
      ["low", 0],
      [undefined, 0],
      [undefined, undefined],
    ]);
  });

  it("is not told again, after tools, what it has refused to be told", async () => {
    const { driver, calls } = await setUp(
      (_, response) => replyJson(response, 400, errorBody("unsupported_value", "'temperature' is not supported.")),
      [call(0, "a", "look", "{}")],
      [{ content: "ok" }],
    );
    const run = openRun(driver, { tools: [LOOK], sampling: { temperature: 0 } });
    await gather(run);
    const history: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "tool-call", id: "s__call_0", name: "look", args: {} }] },
      { role: "tool", callId: "s__call_0", content: [{ type: "text", text: "seen" }], isError: false },
    ];
    expect(run.submitResults([], history)).toBe(true);
    expect(textIn(await gather(run))).toBe("ok");
    expect(calls.map(({ body }) => body.temperature)).toEqual([0, undefined, undefined]);
  });

  it("goes on after tools with what was thought between tags", async () => {
    const { driver, calls } = await setUp(
      [{ content: "<think>why</think>\nLet me" }, call(0, "a", "look", "{}")],
      [{ content: "ok" }],
    );
    const run = openRun(driver, { tools: [LOOK] });
    await gather(run);
    const history: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me" },
          { type: "tool-call", id: "s__call_0", name: "look", args: {} },
        ],
      },
      { role: "tool", callId: "s__call_0", content: [], isError: false },
    ];
    expect(run.submitResults([], history)).toBe(true);
    expect(textIn(await gather(run))).toBe("ok");
    expect(calls[1]?.body.messages[1]).toMatchObject({ reasoning_content: "why", content: "Let me" });
  });

  it("lists its models", async () => {
    const { driver } = await setUp();
    const models = await driver.listModels({ id: "p", token: undefined }, new AbortController().signal);
    expect(models).toMatchObject([
      { id: "llama-4", contextTokens: 128_000, isThinking: false },
      { id: "qwen", contextTokens: 32_768, isThinking: true },
    ]);
  });

  it.each<[Reply, string]>([
    [(_, response) => replyJson(response, 400, errorBody("context_length_exceeded", "too long")), "context-overflow"],
    [(_, response) => replyJson(response, 404, errorBody("model_not_found", "no such model")), "model-not-found"],
    [
      (_, response) => replyJson(response, 404, { error: "model 'x' not found, try pulling it first" }),
      "model-not-found",
    ],
    [(_, response) => replyJson(response, 404, {}), "not-found"],
    [(_, response) => replyJson(response, 429, errorBody("insufficient_quota", "pay")), "quota-exhausted"],
    [(_, response) => replyJson(response, 429, errorBody("rate_limit_exceeded", "slow")), "rate-limited"],
    [(_, response) => replyJson(response, 503, {}), "upstream-unavailable"],
    [
      (_, response) => replyStream(response, `data: ${JSON.stringify(errorBody("server_error", "ouch"))}\n\n`),
      "upstream-failed",
    ],
    [(_, response) => replyStream(response, streamOf([{ content: "a" }]).slice(0, 400)), "upstream-unavailable"],
    [(_, response) => replyStream(response, `data: ${"x".repeat(9 * 1024 * 1024)}`), "upstream-protocol"],
  ])("%# is told as what it is", async (reply, kind) => {
    const { driver } = await setUp(reply);
    const error = await failureOf(ask(driver));
    expect(error).toMatchObject({ kind });
  });

  it("a wrong key is named, and not shown", async () => {
    const { url } = await startOpenAiServer();
    const driver = createOpenAiDriver(driverOptions(`${url}/v1`, "wrong"));
    const error = await failureOf(ask(driver));
    expect(error).toMatchObject({ kind: "unauthenticated", code: "upstream_key_refused" });
    expect(error.message).not.toContain("wrong");
  });
});
