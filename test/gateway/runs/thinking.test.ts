import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { extractReasoningMiddleware, streamText, wrapLanguageModel } from "ai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { type Answer, signatureOf, startAnthropicServer, streamOf } from "../../drivers/support/anthropic-server.ts";
import { startOpenAiServer } from "../../drivers/support/openai-server.ts";
import { KEY } from "../support/gateway-process.ts";
import { openOwnGateway } from "../support/own-gateway.ts";
import { answersTo, type Messages, TOOLS } from "../support/tool-client.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const THOUGHT = "I should look, <b>there</b>.\n\nFirst: ☕ </thinking-about-it>";
const MODEL = "claude-older";

const looks: Answer = {
  blocks: [
    { type: "thinking", text: THOUGHT },
    { type: "text", text: "\n\nLet me see." },
    { type: "tool_use", id: "toolu_01A", name: "look", input: { at: "there" } },
  ],
};
const answers: Answer = {
  blocks: [
    { type: "thinking", text: "Good." },
    { type: "text", text: "Done." },
  ],
};
const plain: Answer = { blocks: [{ type: "text", text: "Yes." }] };

const SIGNED = { type: "thinking", thinking: THOUGHT, signature: signatureOf(THOUGHT) };

async function setUp(replies: readonly Answer[], settings: object = {}) {
  const upstream = await startAnthropicServer(...replies);
  const gateway = await openOwnGateway({
    anthropic: { key: "sk-ant-test", baseURL: upstream.url },
    models: { "claude-*": { driver: "anthropic", effort: "medium" } },
    ...settings,
  });
  const client = (prefix = "") => new OpenAI({ baseURL: `${gateway.url}${prefix}/v1`, apiKey: KEY, maxRetries: 0 });
  return { upstream, gateway, client };
}

describe("thinking and tools over two turns, through OpenAI's client", () => {
  const styles = ["fields", "tags", "tags-nonce", "none"];

  it.each(styles)("the run goes on with what was thought: %s", async (style) => {
    const { upstream, client } = await setUp([looks, answers], { thinking: style });
    await converse(client());
    const [first, second] = upstream.calls;
    expect(first?.body.thinking).toEqual({ type: "enabled", budget_tokens: 8192 });
    expect(second?.body.thinking).toEqual({ type: "enabled", budget_tokens: 8192 });
    expect(second?.body.messages[1].content.map(({ type }: { type: string }) => type)).toEqual([
      "thinking",
      "text",
      "tool_use",
    ]);
    expect(second?.body.messages[1].content[0]).toEqual(SIGNED);
  });

  it.each(["tags", "tags-nonce"])("after a restart it is found by its id, also if it was edited: %s", async (style) => {
    const { upstream, client, gateway } = await setUp([looks, answers, plain], { thinking: style });
    const messages = await converse(
      client(),
      async (answer) => {
        await gateway.restart();
        return { ...answer, content: (answer.content ?? "").replace("First", "Second") };
      },
      () => client(),
    );
    expect(upstream.calls[1]?.body.messages[1].content).toEqual([
      SIGNED,
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: expect.stringMatching(/^sess_/), name: "look", input: { at: "there" } },
    ]);
    expect(upstream.calls[1]?.body.thinking.type).toBe("enabled");
    await client().chat.completions.create({
      model: MODEL,
      messages: [...messages, { role: "user", content: "sure?" }],
      tools: TOOLS,
    });
    const third = upstream.calls[2]?.body.messages;
    expect(third[1].content[0]).toEqual(SIGNED);
    expect(third[3].content[0]).toEqual({ type: "thinking", thinking: "Good.", signature: signatureOf("Good.") });
    expect(JSON.stringify(third)).not.toMatch(/thinkId|<think>|thinking-start/);
  });

  it("after a restart it is found by its text: fields", async () => {
    const { upstream, client, gateway } = await setUp([looks, answers]);
    await converse(
      client(),
      async (answer) => {
        await gateway.restart();
        return answer;
      },
      () => client(),
      // The helper for streams knows no such field.
      false,
    );
    expect(upstream.calls[1]?.body.messages[1].content[0]).toEqual(SIGNED);
  });

  it.each(["none", "tags"])(
    "what nobody knows any more is left out, and the answer comes all the same: %s",
    async (style) => {
      const { upstream, client, gateway } = await setUp([looks, plain], { thinking: style });
      const messages = await converse(
        client(),
        async (answer) => {
          await gateway.restart();
          return {
            ...answer,
            content: (answer.content ?? "").replace(/thinkId:\w+/, "thinkId:forgotten").replace("First", ""),
          };
        },
        () => client(),
      );
      expect(messages.at(-1)).toMatchObject({ content: "Yes." });
      expect(upstream.calls).toHaveLength(2);
      expect(upstream.calls[1]?.body.thinking).toBeUndefined();
      expect(JSON.stringify(upstream.calls[1]?.body)).not.toContain("signature");
    },
  );

  async function converse(
    client: OpenAI,
    keep: (answer: OpenAI.ChatCompletionMessage) => Promise<OpenAI.ChatCompletionMessage> = async (answer) => answer,
    nextClient = () => client,
    isStream = true,
  ): Promise<Messages> {
    const messages: Messages = [{ role: "user", content: "look there" }];
    const ask = { model: MODEL, messages, tools: TOOLS };
    const first = isStream
      ? await client.chat.completions.stream(ask).finalChatCompletion()
      : await client.chat.completions.create(ask);
    const given = first.choices[0]?.message;
    if (!given) throw new Error("no answer");
    const kept = await keep(given);
    messages.push(kept, ...answersTo(kept));
    const { choices } = await nextClient().chat.completions.create({ model: MODEL, messages, tools: TOOLS });
    messages.push(choices[0]?.message ?? { role: "assistant" });
    return messages;
  }
});

describe("thinking through Anthropic's client", () => {
  it("comes with its signature and goes back with it, also after a restart", async () => {
    const { upstream, gateway } = await setUp([looks, answers]);
    const client = () => new Anthropic({ baseURL: gateway.url, apiKey: KEY, maxRetries: 0 });
    const ask = { model: MODEL, max_tokens: 20_000, thinking: { type: "enabled" as const, budget_tokens: 8192 } };
    const tools: Anthropic.Tool[] = [
      { name: "look", input_schema: { type: "object", properties: { at: { type: "string" } } } },
    ];
    const question: Anthropic.MessageParam = { role: "user", content: "look there" };
    const first = await client()
      .messages.stream({ ...ask, tools, messages: [question] })
      .finalMessage();
    expect(first.content[0]).toMatchObject(SIGNED);
    await gateway.restart();
    const call = first.content.find((block) => block.type === "tool_use");
    const messages: Anthropic.MessageParam[] = [
      question,
      { role: "assistant", content: first.content as Anthropic.ContentBlockParam[] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "seen" }] },
    ];
    const second = await client().messages.create({ ...ask, tools, messages });
    expect(second.content.at(-1)).toMatchObject({ type: "text", text: "Done." });
    expect(upstream.calls[1]?.body.messages[1].content[0]).toEqual(SIGNED);
  });
});

describe("thinking through OpenAI's client for Responses, after a restart", () => {
  type Asked = OpenAI.Responses.ResponseCreateParamsNonStreaming["input"];
  type Output = OpenAI.Responses.Response["output"];
  const tools = [{ type: "function" as const, name: "look", strict: false, parameters: { type: "object" } }];
  const sealed = { store: false, include: ["reasoning.encrypted_content" as const] };
  const question = { role: "user" as const, content: "look there" };

  it.each<[string, object, (id: string, output: Output, results: Exclude<Asked, string | undefined>) => object]>([
    ["sealed in its items", sealed, (_, output, results) => ({ ...sealed, input: [question, ...output, ...results] })],
    ["kept with the answer", {}, (id, _, results) => ({ previous_response_id: id, input: results })],
    [
      "kept, and referred to",
      {},
      (_, output, results) => ({
        input: [question, ...output.map(({ id }) => ({ type: "item_reference", id })), ...results],
      }),
    ],
  ])("it goes back as it was, each block in its place: %s", async (_, how, next) => {
    const blocks = [
      { type: "redacted_thinking", data: "c2VhbGVk" },
      ...looks.blocks.slice(0, 2),
      { type: "thinking", text: "And." },
    ];
    const { upstream, gateway, client } = await setUp([
      { blocks: [...blocks, ...looks.blocks.slice(2)] } as Answer,
      answers,
    ]);
    const ask = { model: "claude-sonnet-5", tools };
    const first = await client()
      .responses.stream({ ...ask, ...how, input: [question] })
      .finalResponse();
    await gateway.restart();
    const results = first.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "42" }]
        : [],
    );
    const second = await client().responses.create({ ...ask, ...next(first.id, first.output, results) });
    expect(second.output_text).toBe("Done.");
    expect(upstream.calls).toHaveLength(2);
    expect(upstream.calls[1]?.body.messages[1].content).toEqual([
      { type: "redacted_thinking", data: "c2VhbGVk" },
      SIGNED,
      { type: "text", text: "\n\nLet me see." },
      { type: "thinking", thinking: "And.", signature: signatureOf("And.") },
      { type: "tool_use", id: expect.stringMatching(/^sess_/), name: "look", input: { at: "there" } },
    ]);
  });
});

describe("the AI SDK shows what was thought, once", () => {
  const ask = async (url: string, tagName?: string) => {
    const provider = createOpenAICompatible({ name: "excursor", baseURL: url, apiKey: KEY });
    const model = provider(MODEL);
    const wrapped = tagName ? wrapLanguageModel({ model, middleware: extractReasoningMiddleware({ tagName }) }) : model;
    const stream = streamText({ model: wrapped, prompt: "x", maxRetries: 0 });
    const parts: string[] = [];
    for await (const { type } of stream.fullStream) if (/^(reasoning|text)-start$/.test(type)) parts.push(type);
    return { parts, reasoning: await stream.reasoningText, text: await stream.text };
  };

  it("fields", async () => {
    const { gateway } = await setUp([answers]);
    const { parts, reasoning, text } = await ask(`${gateway.url}/v1`);
    expect(parts).toEqual(["reasoning-start", "text-start"]);
    expect([reasoning, text]).toEqual(["Good.", "Done."]);
  });

  it("tags, with the middleware that it has for them", async () => {
    const { gateway } = await setUp([answers]);
    const { parts, reasoning, text } = await ask(`${gateway.url}/tags/v1`, "think");
    expect(parts).toEqual(["reasoning-start", "text-start"]);
    expect(reasoning?.trim()).toBe("Good.");
    expect(text).toMatch(/Done\.$/);
  });

  it("none", async () => {
    const { gateway } = await setUp([answers]);
    expect(await ask(`${gateway.url}/none/v1`)).toEqual({ parts: ["text-start"], reasoning: undefined, text: "Done." });
  });

  it("tags-nonce is text to it", async () => {
    const { gateway } = await setUp([answers]);
    const { parts, text } = await ask(`${gateway.url}/tags-nonce/v1`);
    expect(parts).toEqual(["text-start"]);
    expect(text).toMatch(
      /^<!--thinking-start:\w{8}-->\nGood\.\n<!--thinking-end:\w{8}-->\n<!--thinkId:\w+-->\nDone\.$/,
    );
  });
});

describe("the style", () => {
  it.each([
    ["/v1", { thinking: "tags" }, {}, /^<think>/],
    ["/fields/v1", { thinking: "tags" }, {}, /^Done/],
    ["/tags/v1", { thinking: "none" }, {}, /^<think>/],
    ["/v1", {}, { "user-agent": "Cursor/3.2.0" }, /^<think>/],
    ["/v1", { thinking: "fields" }, { "user-agent": "Cursor/3.2.0" }, /^Done/],
  ])("by path before setting before client: %s with %j and %j", async (path, settings, headers, expected) => {
    const { gateway } = await setUp([answers], settings);
    const response = await fetch(`${gateway.url}${path}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "x" }] }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: as a client reads it
    expect(((await response.json()) as any).choices[0].message.content).toMatch(expected);
  });
});

describe("what goes wrong", () => {
  it("in the middle of thinking: the block is closed, and the error is the dialect's", async () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    const { client } = await setUp([{ blocks: [{ type: "thinking", text: "hm" }], error }]);
    const stream = await client("/tags").chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "x" }],
      stream: true,
    });
    let content = "";
    const reading = (async () => {
      for await (const { choices } of stream) content += choices[0]?.delta.content ?? "";
    })();
    await expect(reading).rejects.toThrow(/Overloaded/);
    expect(content).toMatch(/^<think>\nhm\n<\/think>\n```plaintext:thinkId:\w+```\n$/);
  });

  it("a wrong key is a 401 that says whose, and the key is nowhere", async () => {
    const upstream = await startAnthropicServer();
    const gateway = await openOwnGateway({
      anthropic: { key: "wrong", baseURL: upstream.url },
      models: { "claude-*": "anthropic" },
      logLevel: "debug",
    });
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 });
    const asking = client.chat.completions.create({ model: MODEL, messages: [{ role: "user", content: "x" }] });
    await expect(asking).rejects.toMatchObject({
      status: 401,
      code: "upstream_key_refused",
      message: expect.stringContaining("rejected the gateway's key"),
    });
    await expect.poll(gateway.log).toContain("upstream_key_refused");
    expect(gateway.log()).not.toContain("wrong");
  });

  it("who brings a Cursor token instead of a key does not spend the owner's", async () => {
    const { gateway, upstream } = await setUp([answers]);
    const token = `eyJ${"a".repeat(30)}.${"b".repeat(40)}.${"c".repeat(43)}`;
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: token, maxRetries: 0 });
    const asking = client.chat.completions.create({ model: MODEL, messages: [{ role: "user", content: "x" }] });
    await expect(asking).rejects.toMatchObject({ status: 403, code: "gateway_key_required" });
    expect(upstream.calls).toEqual([]);
  });

  it("a name that leads nowhere is a 4xx, where there is no Cursor account", async () => {
    const { client } = await setUp([], { token: undefined });
    const asking = client().chat.completions.create({ model: "gpt-5.5", messages: [{ role: "user", content: "x" }] });
    await expect(asking).rejects.toMatchObject({ status: 401, message: expect.stringContaining("signed in") });
  });
});

it.each([
  ["/tags/v1/chat/completions", '"content":"Done."', "[DONE]"],
  ["/v1/messages", '"text":"Done."', "event: message_stop"],
])(
  "ten megabytes of thinking pass in constant memory, and the answer behind them arrives: %s",
  async (path, answer, sign) => {
    const piece = "0123456789abcdef".repeat(64);
    const count = 10 * 1024;
    const delta = (type: string, text: string) =>
      `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: `${type}_delta`, [type]: text } })}\n\n`;
    const [head = "", tail = ""] = streamOf(answers).split(delta("thinking", "Good."));
    const upstream = await startAnthropicServer(async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(head);
      for (let sent = 0; sent < count; sent += 16) {
        if (!response.write(delta("thinking", piece).repeat(16))) await once(response, "drain");
      }
      response.end(tail);
    });
    const gateway = await openOwnGateway({
      anthropic: { key: "k", baseURL: upstream.url },
      models: { "claude-*": "anthropic" },
    });
    const response = await fetch(gateway.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: MODEL, max_tokens: 9e6, messages: [{ role: "user", content: "x" }], stream: true }),
    });
    const reader = response.body?.getReader();
    let [bytes, seen, most, end] = [0, 0, 0, ""];
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      bytes += next.value.length;
      end = (end + Buffer.from(next.value).toString("latin1")).slice(-4096);
      if (bytes - seen < 2 * 1024 * 1024) continue;
      seen = bytes;
      collectGarbage();
      most = Math.max(most, process.memoryUsage().heapUsed - before);
    }
    expect(bytes).toBeGreaterThan(10 * 1024 * 1024);
    expect(end).toContain(answer);
    expect(end).toContain(sign);
    // What may still be kept of a block, what waits for its reader, and the mock: far from ten.
    expect(most).toBeLessThan(6 * 1024 * 1024);
  },
);

it("a local model that writes tags thinks, in every style", async () => {
  const upstream = await startOpenAiServer(
    [{ content: "<think>\nhm" }, { content: "\n</think>\n\nok" }],
    [{ content: "<think>hm</think>ok" }],
  );
  const gateway = await openOwnGateway({ models: { "local/*": { driver: "openai", baseURL: `${upstream.url}/v1` } } });
  const client = (prefix: string) => new OpenAI({ baseURL: `${gateway.url}${prefix}/v1`, apiKey: KEY, maxRetries: 0 });
  const ask = (prefix: string) =>
    client(prefix).chat.completions.create({ model: "local/llama-4", messages: [{ role: "user", content: "x" }] });
  expect((await ask("")).choices[0]?.message).toMatchObject({
    content: "ok",
    reasoning_content: "hm",
    reasoning: "hm",
  });
  expect((await ask("/none")).choices[0]?.message.content).toBe("ok");
  const { data } = await client("").models.list();
  expect(data.map(({ id }) => id)).toEqual(["local/llama-4", "local/qwen"]);
});
