import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { Message, Turn } from "../../../src/core/turn.ts";
import { createAnthropicDriver } from "../../../src/drivers/anthropic/driver.ts";
import { gather, textIn } from "../../core/support/turns.ts";
import {
  type Answer,
  errorBody,
  type Reply,
  signatureOf,
  startAnthropicServer,
  streamOf,
} from "../support/anthropic-server.ts";
import { replyJson, replyStream } from "../support/api-server.ts";
import { ask, driverOptions, failureOf, ignoredIn, LOOK, openRun, timeless } from "../support/open-driver.ts";

const ADAPTIVE = { id: "claude-sonnet-5", effort: undefined };
const BUDGET = { id: "claude-older", effort: "medium" };

const thinkAndLook: Answer = {
  blocks: [
    { type: "thinking", text: "I should look.\nFirst there." },
    { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix/LafPsn4a" },
    { type: "text", text: "Let me see." },
    { type: "tool_use", id: "toolu_01A", name: "look", input: { at: "there", deep: { n: [1, 2] } } },
    { type: "tool_use", id: "toolu_01B", name: "look", input: {} },
  ],
};

const refused =
  (status: number, type: string, message: string, headers = {}): Reply =>
  (_, response) =>
    replyJson(response, status, errorBody(type, message), headers);

async function setUp(...replies: Reply[]) {
  const server = await startAnthropicServer(...replies);
  return { ...server, driver: createAnthropicDriver(driverOptions(server.url)) };
}

describe("the mock", () => {
  it("is one that Anthropic's own client understands", async () => {
    const { url } = await startAnthropicServer(thinkAndLook);
    const client = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
    const { data } = await client.models.list();
    expect(data[0]?.capabilities?.thinking.types.adaptive.supported).toBe(true);
    const { content, usage, stop_reason } = await client.messages
      .stream({
        model: "claude-sonnet-5",
        max_tokens: 10,
        messages: [{ role: "user", content: [{ type: "text", text: "x" }] }],
      })
      .finalMessage();
    expect(content.map(({ type }) => type)).toEqual(["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]);
    expect(content[0]).toMatchObject({ signature: signatureOf("I should look.\nFirst there.") });
    expect([stop_reason, usage.output_tokens]).toEqual(["tool_use", 89]);
  });
});

describe("the anthropic driver", () => {
  it.each([undefined, 1, 3, 64])("tells thinking, text, calls and usage, cut into %s bytes", async (pieceBytes) => {
    const { driver } = await setUp({ ...thinkAndLook, ...(pieceBytes && { pieceBytes }) });
    const events = timeless(await ask(driver, { model: ADAPTIVE, tools: [LOOK] }));
    const joined = (type: string) =>
      events.map((event) => (event.type === type && "text" in event ? event.text : "")).join("");
    expect([joined("thinking"), joined("text")]).toEqual(["I should look.\nFirst there.", "Let me see."]);
    expect(events.filter(({ type }) => !/^(thinking|text|tool-call-delta)$/.test(type))).toEqual([
      { type: "thinking-done", durationMs: 0, signature: signatureOf("I should look.\nFirst there.") },
      { type: "thinking-done", durationMs: 0, signature: "redacted:EmwKAhgBEgy3va3pzix/LafPsn4a" },
      { type: "tool-call-start", id: "toolu_01A", name: "look" },
      { type: "tool-call", id: "toolu_01A", name: "look", args: { at: "there", deep: { n: [1, 2] } } },
      { type: "tool-call-start", id: "toolu_01B", name: "look" },
      { type: "tool-call", id: "toolu_01B", name: "look", args: {} },
      {
        type: "usage",
        usage: {
          inputTokens: 68,
          outputTokens: 89,
          cachedTokens: 40,
          cacheWrittenTokens: 3,
          reasoningTokens: 30,
          isEstimate: false,
        },
      },
      { type: "done", reason: "tool-calls" },
    ]);
    const streamed = events.map((event) =>
      event.type === "tool-call-delta" && event.id === "toolu_01A" ? event.json : "",
    );
    expect(JSON.parse(streamed.join(""))).toEqual({ at: "there", deep: { n: [1, 2] } });
  });

  it("asks with all that a turn says", async () => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const messages: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "what is this?" },
          { type: "image", mediaType: "image/png", data: Buffer.from("png") },
          { type: "file", name: "a.txt", text: "in it" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "  " },
          { type: "tool-call", id: "c.1", name: "my.tool", args: { a: 1 } },
        ],
      },
      {
        role: "tool",
        callId: "c.1",
        content: [
          { type: "text", text: "seen" },
          { type: "image", mediaType: "image/png", data: Buffer.from("two") },
        ],
        isError: true,
      },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ];
    await ask(driver, {
      model: { ...ADAPTIVE, effort: "minimal" },
      system: "Be brief.",
      messages,
      tools: [{ ...LOOK, name: "my.tool" }],
      toolChoice: { type: "none" },
      allowsParallelCalls: false,
      maxOutputTokens: 777,
    });
    const name = expect.stringMatching(/^my_tool_x[0-9a-f]{8}$/);
    const cache_control = { type: "ephemeral" };
    expect(calls[0]?.body).toEqual({
      model: "claude-sonnet-5",
      stream: true,
      max_tokens: 777,
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "low" },
      system: [{ type: "text", text: "Be brief.", cache_control }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "what is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "cG5n" } },
            { type: "document", title: "a.txt", source: { type: "text", media_type: "text/plain", data: "in it" } },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "c_1", name, input: { a: 1 } }] },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "c_1",
              content: [
                { type: "text", text: "seen" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "dHdv" } },
              ],
              is_error: true,
            },
            { type: "text", text: "and?", cache_control },
          ],
        },
      ],
      tools: [{ name, description: "looks", input_schema: LOOK.schema }],
      tool_choice: { type: "none" },
    });
    expect(calls[0]?.headers).toMatchObject({ "x-api-key": "sk-test", "anthropic-version": "2023-06-01" });
  });

  it.each<[string, Partial<Turn>, object]>([
    ["it decides itself", { model: ADAPTIVE }, { thinking: { type: "adaptive" }, max_tokens: 64_000 }],
    ["harder than it can", { model: { ...ADAPTIVE, effort: "max" } }, { output_config: { effort: "high" } }],
    ["longer than it can", { model: ADAPTIVE, maxOutputTokens: 99_000 }, { max_tokens: 64_000 }],
    ["it is told not to", { model: { ...ADAPTIVE, effort: "none" } }, { thinking: { type: "disabled" } }],
    [
      "a budget, by effort",
      { model: BUDGET },
      { thinking: { type: "enabled", budget_tokens: 8192 }, max_tokens: 64_000 },
    ],
    ["no word, no budget", { model: { ...BUDGET, effort: undefined } }, { thinking: undefined }],
    [
      "a budget below the limit",
      { model: BUDGET, maxOutputTokens: 3000 },
      { thinking: { budget_tokens: 1976 }, max_tokens: 3000 },
    ],
    ["no room for a budget", { model: BUDGET, maxOutputTokens: 1500 }, { thinking: undefined, max_tokens: 1500 }],
    [
      "a model that nobody knows",
      { model: { id: "other", effort: "high" } },
      { thinking: { budget_tokens: 24_576 }, max_tokens: 32_768 },
    ],
    [
      "forced, thinking off",
      { model: { ...ADAPTIVE, effort: "none" }, tools: [LOOK], toolChoice: { type: "required" } },
      { tool_choice: { type: "any" } },
    ],
    [
      "forced, thinking on",
      { model: ADAPTIVE, tools: [LOOK], toolChoice: { type: "tool", name: "look" }, allowsParallelCalls: false },
      { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    ],
  ])("how to think: %s", async (_, turn, expected) => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    await ask(driver, turn);
    expect({ thinking: undefined, ...calls[0]?.body }).toMatchObject(expected);
  });

  it.each<[string, Partial<Turn>, object, readonly string[]]>([
    [
      "one that thinks takes none",
      { model: ADAPTIVE, sampling: { temperature: 0, top_p: 0.5, top_k: 3 } },
      {},
      ["temperature", "top_p", "top_k"],
    ],
    ["but what changes nothing", { model: ADAPTIVE, sampling: { temperature: 1, top_p: 0.99 } }, { top_p: 0.99 }, []],
    [
      "either a temperature or a top_p",
      { sampling: { temperature: 0.2, top_p: 0.5, top_k: 3 } },
      { temperature: 0.2, top_k: 3 },
      ["top_p"],
    ],
    ["a top_p alone", { sampling: { top_p: 0.5, seed: 1 } }, { top_p: 0.5 }, ["seed"]],
    ["not warmer than 1", { sampling: { temperature: 1.8 } }, { temperature: 1 }, ["temperature"]],
    ["an effort that it has not", { model: { ...ADAPTIVE, effort: "minimal" } }, {}, ["effort"]],
  ])("is told how to choose, as far as it can be: %s", async (_, over, told, ignored) => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const events = await ask(driver, { model: { id: "claude-plain", effort: undefined }, ...over });
    const { temperature, top_p, top_k } = calls[0]?.body ?? {};
    expect({ temperature, top_p, top_k }).toEqual({
      temperature: undefined,
      top_p: undefined,
      top_k: undefined,
      ...told,
    });
    expect(ignoredIn(events)).toEqual(ignored);
  });

  it("leaves out what is empty, and says itself that nothing is asked", async () => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const says = (role: "user" | "assistant", ...texts: string[]): Message => ({
      role,
      content: texts.map((text) => ({ type: "text", text })),
    });
    const file: Message = { role: "user", content: [{ type: "file", name: "a.txt", text: "\n" }] };
    await ask(driver, {
      system: " ",
      messages: [says("user", ""), says("assistant", "hi", " "), says("user", "", "a"), file],
    });
    expect(calls[0]?.body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "(no message)" }] },
      { role: "assistant", content: [{ type: "text", text: "hi" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "The file a.txt is empty." },
        ],
      },
    ]);
    expect(calls[0]?.body).not.toHaveProperty("system");
    for (const messages of [[says("user", " ")], [says("user", "a"), says("assistant", "b"), says("user")]]) {
      expect(await failureOf(ask(driver, { messages }))).toMatchObject({
        kind: "invalid-request",
        code: "empty_question",
      });
    }
    expect(calls).toHaveLength(1);
  });

  it("has tools that must not be called for a conversation with calls, and none else", async () => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "a" }] },
      { role: "assistant", content: [{ type: "tool-call", id: "c", name: "look", args: {} }] },
      { role: "tool", callId: "c", content: [], isError: false },
    ];
    await ask(driver, { messages });
    expect(calls[0]?.body).toMatchObject({ tools: [{ name: "look" }], tool_choice: { type: "none" } });
  });

  it("is asked again without what it refuses to be told", async () => {
    const refusal = "temperature: `temperature` is not supported by this model.";
    const { driver, calls } = await setUp(refused(400, "invalid_request_error", refusal), {
      blocks: [{ type: "text", text: "ok" }],
    });
    expect(
      textIn(await ask(driver, { model: { id: "claude-plain", effort: undefined }, sampling: { temperature: 0 } })),
    ).toBe("ok");
    expect(calls.map(({ body }) => body.temperature)).toEqual([0, undefined]);
  });

  it("goes on after tools with what was thought, byte by byte, although the client has lost it", async () => {
    const second: Answer = {
      blocks: [
        { type: "thinking", text: "More." },
        { type: "tool_use", id: "t2", name: "look", input: { at: 2 } },
      ],
    };
    const { driver, calls } = await setUp(thinkAndLook, second, { blocks: [{ type: "text", text: "Done." }] });
    const run = openRun(driver, { model: BUDGET, tools: [LOOK] });
    await gather(run);
    const call = (id: string, at: string | number) => ({ type: "tool-call", id, name: "look", args: { at } }) as const;
    const result = (callId: string) =>
      ({ role: "tool", callId, content: [{ type: "text", text: callId }], isError: false }) as const;
    const history: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [{ type: "text", text: "Let me see." }, call("s__call_0", "there"), call("s__call_1", 0)],
      },
      result("s__call_0"),
      result("s__call_1"),
    ];
    // The last result may say more than the transcript, now and later.
    const news = { ...result("toolu_01B"), content: [{ type: "text", text: "and be kind" } as const] };
    expect(run.submitResults([result("toolu_01A"), news], history)).toBe(true);
    await gather(run);
    history.push({ role: "assistant", content: [call("s__call_2", 2)] }, result("s__call_2"));
    expect(run.submitResults([], history)).toBe(true);
    expect(textIn(await gather(run))).toBe("Done.");
    const [, , third] = calls;
    const text = "I should look.\nFirst there.";
    expect(third?.body.messages[1].content).toEqual([
      { type: "thinking", thinking: text, signature: signatureOf(text) },
      { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix/LafPsn4a" },
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "s__call_0", name: "look", input: { at: "there" } },
      { type: "tool_use", id: "s__call_1", name: "look", input: { at: 0 } },
    ]);
    expect(third?.body.messages[2].content).toMatchObject([
      { tool_use_id: "s__call_0", content: [{ text: "s__call_0" }] },
      { tool_use_id: "s__call_1", content: [{ text: "and be kind" }] },
    ]);
    expect(third?.body.messages[3].content[0]).toEqual({
      type: "thinking",
      thinking: "More.",
      signature: signatureOf("More."),
    });
    expect(third?.body.thinking.type).toBe("enabled");
    expect(run.submitResults([], history)).toBe(false);
  });

  it.each<[string, Turn["model"], boolean]>([
    ["of which nobody knows whether it thinks", { id: "other", effort: undefined }, true],
    ["told not to think", { id: "other", effort: "none" }, false],
    ["known to think only when asked", { ...BUDGET, effort: undefined }, false],
  ])("gives back what was thought unasked, to a model %s", async (_, model, isTold) => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "hm", signature: "sig" },
          { type: "tool-call", id: "a", name: "look", args: {} },
        ],
      },
      { role: "tool", callId: "a", content: [], isError: false },
    ];
    await ask(driver, { model, tools: [LOOK], messages });
    expect(calls[0]?.body.messages[1].content[0].type).toBe(isTold ? "thinking" : "tool_use");
    expect(calls[0]?.body.thinking?.type).not.toBe("enabled");
  });

  it("goes on although the stream of the first answer ends late", async () => {
    const ended = Promise.withResolvers<void>();
    let endFirst = () => {};
    const { driver } = await setUp(
      (call, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(streamOf(thinkAndLook));
        endFirst = () => response.end();
        void call.closed.then(ended.resolve);
      },
      async (_, response) => {
        endFirst();
        await ended.promise;
        replyStream(response, streamOf({ blocks: [{ type: "text", text: "Done." }] }));
      },
    );
    const run = openRun(driver, { model: BUDGET, tools: [LOOK] });
    await gather(run);
    const calls = ["a", "b"].map((id) => ({ type: "tool-call", id, name: "look", args: {} }) as const);
    const results = calls.map(({ id }) => ({ role: "tool", callId: id, content: [], isError: false }) as const);
    const question: Message = { role: "user", content: [{ type: "text", text: "hi" }] };
    expect(run.submitResults(results, [question, { role: "assistant", content: calls }, ...results])).toBe(true);
    expect(textIn(await gather(run))).toBe("Done.");
  });

  it("does not go on with another answer than it gave", async () => {
    const { driver } = await setUp(thinkAndLook);
    const run = openRun(driver, { model: BUDGET, tools: [LOOK] });
    await gather(run);
    expect(
      run.submitResults([], [{ role: "assistant", content: [{ type: "tool-call", id: "x", name: "look", args: {} }] }]),
    ).toBe(false);
  });

  it("finishes without thinking what it began with it, if the thinking is lost", async () => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "unsigned", signature: undefined },
          { type: "tool-call", id: "a", name: "look", args: {} },
        ],
      },
      { role: "tool", callId: "a", content: [], isError: false },
    ];
    expect(textIn(await ask(driver, { model: BUDGET, tools: [LOOK], messages }))).toBe("ok");
    expect(calls[0]?.body.thinking).toBeUndefined();
    expect(JSON.stringify(calls[0]?.body)).not.toContain("unsigned");
  });

  it("drops signatures that the upstream refuses, once, instead of failing", async () => {
    const { driver, calls } = await setUp({ blocks: [{ type: "text", text: "ok" }] });
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "elsewhere", signature: "of somebody else" },
          { type: "text", text: "yes" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ];
    expect(textIn(await ask(driver, { model: ADAPTIVE, messages }))).toBe("ok");
    expect(calls).toHaveLength(2);
    expect(calls[1]?.body.messages[1].content).toEqual([{ type: "text", text: "yes" }]);
  });

  it("drops them after tools, too, but not what this answer has thought itself", async () => {
    const { driver, calls } = await setUp(thinkAndLook, { blocks: [{ type: "text", text: "ok" }] });
    const before: Message[] = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "elsewhere", signature: "of somebody else" },
          { type: "text", text: "yes" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ];
    const run = openRun(driver, { model: ADAPTIVE, tools: [LOOK], messages: before });
    await gather(run);
    const ids = ["s__call_0", "s__call_1"];
    const history: Message[] = [
      ...before,
      { role: "assistant", content: ids.map((id) => ({ type: "tool-call", id, name: "look", args: {} })) },
      ...ids.map((callId): Message => ({ role: "tool", callId, content: [], isError: false })),
    ];
    expect(run.submitResults([], history)).toBe(true);
    expect(textIn(await gather(run))).toBe("ok");
    expect(calls).toHaveLength(3);
    expect(calls[2]?.body.messages[1].content).toEqual([{ type: "text", text: "yes" }]);
    expect(calls[2]?.body.messages[3].content[0]).toMatchObject({ type: "thinking" });
  });

  it("lists its models", async () => {
    const { driver } = await setUp();
    const models = await driver.listModels({ id: "p", token: undefined }, new AbortController().signal);
    expect(models.map(({ id, isThinking, efforts }) => [id, isThinking, efforts])).toEqual([
      ["claude-sonnet-5", true, ["low", "medium", "high"]],
      ["claude-older", true, ["low", "medium", "high"]],
    ]);
  });
});

describe("what goes wrong at Anthropic's", () => {
  const failure = async (reply: Reply) => {
    const { driver, calls } = await setUp(reply, { blocks: [{ type: "text", text: "a second try" }] });
    const error = await failureOf(ask(driver, { model: ADAPTIVE }));
    return { error, calls };
  };
  it.each<[Reply, string, string]>([
    [refused(400, "invalid_request_error", "max_tokens: 99 > 8"), "invalid-request", "max_tokens: 99 > 8"],
    [refused(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "context-overflow", "too long"],
    [refused(403, "permission_error", "no"), "forbidden", "no"],
    [refused(404, "not_found_error", "model: claude-x"), "model-not-found", "claude-x"],
    [refused(413, "request_too_large", "large"), "too-large", "large"],
    [refused(429, "rate_limit_error", "slow down"), "rate-limited", "slow down"],
    [refused(500, "api_error", "Internal server error"), "upstream-failed", "Internal"],
    [refused(529, "overloaded_error", "Overloaded"), "upstream-unavailable", "Overloaded"],
    [(_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<html>"), "upstream-failed", "502"],
    [
      (_, response) => response.writeHead(302, { location: "https://elsewhere.example" }).end(),
      "upstream-protocol",
      "302",
    ],
    [
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      "upstream-protocol",
      "text/html",
    ],
    [(_, response) => replyStream(response, "data: {not json\n\n"), "upstream-protocol", "not JSON"],
    [(_, response) => replyStream(response, ""), "upstream-unavailable", "ended its answer early"],
    [{ blocks: [{ type: "thinking", text: "hm" }], breaksOff: true }, "upstream-unavailable", "ended its answer early"],
    [
      { blocks: [{ type: "text", text: "a" }], error: { type: "overloaded_error", message: "Overloaded" } },
      "upstream-unavailable",
      "Overloaded",
    ],
    [(_, response) => response.socket?.destroy(), "upstream-unavailable", "closed the connection"],
  ])("%# is told, and not tried again", async (reply, kind, message) => {
    const { error, calls } = await failure(reply);
    expect(error).toMatchObject({ kind, message: expect.stringContaining(message) });
    expect(calls).toHaveLength(1);
  });

  it("a time to wait is passed on", async () => {
    const { error } = await failure(refused(429, "rate_limit_error", "slow down", { "retry-after": "7" }));
    expect(error.retryAfterMs).toBe(7000);
  });

  it("a wrong key is named, and not shown", async () => {
    const { url } = await startAnthropicServer();
    const driver = createAnthropicDriver(driverOptions(url, "wrong"));
    const error = await failureOf(ask(driver));
    expect(error).toMatchObject({ kind: "unauthenticated", code: "upstream_key_refused" });
    expect(error.message).not.toContain("wrong");
  });

  it("what was never reached is tried once more", async () => {
    const { url } = await startAnthropicServer({ blocks: [{ type: "text", text: "ok" }] });
    const options = driverOptions(url);
    let refusals = 0;
    const transport: typeof options.transport = {
      ...options.transport,
      open(request, handler) {
        if (request.method === "GET" || refusals++ > 0) return options.transport.open(request, handler);
        return options.transport.open({ ...request, origin: "http://127.0.0.1:9" }, handler);
      },
    };
    expect(textIn(await ask(createAnthropicDriver({ ...options, transport })))).toBe("ok");
    expect(refusals).toBe(2);
  });

  it("whoever leaves is not answered any longer", async () => {
    const { driver, calls } = await setUp((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(streamOf({ blocks: [{ type: "text", text: "a" }], breaksOff: true }));
    });
    for await (const events of openRun(driver)) if (events.some(({ type }) => type === "text")) break;
    await calls[0]?.closed;
  });

  it("a reader that stalls holds the upstream back, and nothing is lost (REL-20)", async () => {
    const pieces = 400;
    const text = "x".repeat(64 * 1024);
    let written = 0;
    const { driver } = await setUp(async (_, response) => {
      const [head = "", tail = ""] = streamOf({ blocks: [{ type: "text", text: "@" }] }).split(
        /(?<=content_block_delta.*\n\n)/,
      );
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (; written < pieces; written++) {
        if (
          !response.write(
            written === 0 ? head : head.slice(head.indexOf("event: content_block_delta")).replace("@", text),
          )
        ) {
          await once(response, "drain");
        }
      }
      response.end(tail);
    });
    const run = openRun(driver)[Symbol.asyncIterator]();
    let next = await run.next();
    for (let before = -1; before !== written; await sleep(50)) before = written;
    expect(written).toBeLessThan(pieces / 2);
    let length = 0;
    for (; !next.done; next = await run.next()) length += textIn(next.value).length;
    expect(length).toBe(1 + (pieces - 1) * text.length);
  });
});
