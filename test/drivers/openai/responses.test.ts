import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { Message } from "../../../src/core/turn.ts";
import { createOpenAiDriver } from "../../../src/drivers/openai/driver.ts";
import { gather } from "../../core/support/turns.ts";
import { replyJson, replyStream, startApiServer } from "../support/api-server.ts";
import { ask, driverOptions, failureOf, ignoredIn, LOOK, openRun, timeless } from "../support/open-driver.ts";
import { errorBody } from "../support/openai-server.ts";
import { type ResponsesReply, responseStream, startResponsesServer } from "../support/responses-server.ts";

async function setUp(...replies: ResponsesReply[]) {
  const server = await startResponsesServer(...replies);
  return { ...server, driver: createOpenAiDriver({ ...driverOptions(`${server.url}/v1`), api: "responses" }) };
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

const textsOf = (events: readonly TurnEvent[], type: "text" | "thinking") =>
  events.map((event) => (event.type === type ? event.text : "")).join("");

const question: Message = { role: "user", content: [{ type: "text", text: "look there" }] };

describe("the mock", () => {
  it("is one that OpenAI's own client understands", async () => {
    const { url } = await startResponsesServer([{ reasoning: ["hm"] }, { text: "Hello" }]);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 });
    const response = await client.responses
      .stream({ model: "gpt-6", input: "x", store: false, include: ["reasoning.encrypted_content"] })
      .finalResponse();
    expect([response.output_text, response.usage?.total_tokens]).toEqual(["Hello", 29]);
  });

  it("refuses reasoning that is missing or altered", async () => {
    const { url } = await startResponsesServer([{ reasoning: [] }, { call: "look", args: {} }], []);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 });
    const plain = { model: "gpt-6", store: false, include: ["reasoning.encrypted_content" as const] };
    const { output } = await client.responses.stream({ ...plain, input: "x" }).finalResponse();
    const [thought, call] = output as [
      OpenAI.Responses.ResponseReasoningItem,
      OpenAI.Responses.ResponseFunctionToolCall,
    ];
    const result = { type: "function_call_output" as const, call_id: call.call_id, output: "" };
    await expect(client.responses.create({ ...plain, input: [call, result] })).rejects.toThrow(/required 'reasoning'/);
    const altered = { ...thought, encrypted_content: "other" };
    await expect(client.responses.create({ ...plain, input: [altered, call, result] })).rejects.toThrow(/verified/);
  });
});

describe("the openai driver over the Responses API", () => {
  it("gives thinking, text and calls, and the usage", async () => {
    const { driver } = await setUp([
      { reasoning: ["First.", "Second."] },
      { text: "Let me see." },
      { call: "look", args: { at: "x" } },
    ]);
    const events = timeless(await ask(driver, { tools: [LOOK] }));
    expect([textsOf(events, "thinking"), textsOf(events, "text")]).toEqual(["First.\n\nSecond.", "Let me see."]);
    expect(events.filter(({ type }) => !["thinking", "text", "tool-call-delta"].includes(type))).toEqual([
      { type: "thinking-done", durationMs: 0, signature: expect.stringContaining('"id":"rs_1_0"') },
      { type: "tool-call-start", id: "call_1_2", name: "look" },
      { type: "tool-call", id: "call_1_2", name: "look", args: { at: "x" } },
      usage,
      { type: "done", reason: "tool-calls" },
    ]);
  });

  it("tells the upstream everything that the turn has", async () => {
    const { driver, calls } = await setUp([{ text: "ok" }]);
    const image = { type: "image", mediaType: "image/png", data: new Uint8Array([1]) } as const;
    const events = await ask(driver, {
      system: "Be brief.",
      model: { id: "gpt-6", effort: "high" },
      maxOutputTokens: 100,
      tools: [LOOK],
      toolChoice: { type: "tool", name: "look" },
      allowsParallelCalls: false,
      sampling: { temperature: 0.5, seed: 1 },
      messages: [{ role: "user", content: [{ type: "text", text: "see" }, image] }],
    });
    expect(calls[0]?.body).toEqual({
      model: "gpt-6",
      instructions: "Be brief.",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { summary: "auto", effort: "high" },
      max_output_tokens: 100,
      temperature: 0.5,
      tools: [{ type: "function", name: "look", description: "looks", parameters: LOOK.schema, strict: false }],
      tool_choice: { type: "function", name: "look" },
      parallel_tool_calls: false,
      input: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "see" },
            { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AQ==" },
          ],
        },
      ],
    });
    expect(ignoredIn(events)).toEqual(["seed"]);
  });

  it("sends reasoning back unchanged: within a run, and from a transcript", async () => {
    const replies: ResponsesReply[] = [
      [{ reasoning: ["First."] }, { reasoning: [] }, { call: "look", args: { at: "x" } }],
      [{ reasoning: ["Good."] }, { call: "look", args: { at: "y" } }],
      [{ text: "Done." }],
    ];
    const { driver } = await setUp(...replies);
    const run = openRun(driver, { tools: [LOOK], messages: [question] });
    const messages: Message[] = [question];
    for (let round = 0; round < 2; round++) {
      const events = await gather(run);
      const calls = events.filter((event) => event.type === "tool-call");
      expect(calls).toHaveLength(1);
      // The client's transcript has lost the thinking.
      messages.push({ role: "assistant", content: calls });
      const results = calls.map(
        ({ id }) => ({ role: "tool", callId: id, content: [{ type: "text", text: "seen" }], isError: false }) as const,
      );
      messages.push(...results);
      expect(run.submitResults(results, messages)).toBe(true);
    }
    expect(textsOf(await gather(run), "text")).toBe("Done.");

    const other = await setUp(...replies);
    const content = [];
    for (const event of await ask(other.driver, { tools: [LOOK], messages: [question] })) {
      if (event.type === "thinking-done")
        content.push({ type: "thinking", text: "", signature: event.signature } as const);
      if (event.type === "tool-call") content.push(event);
    }
    const result = {
      role: "tool",
      callId: "call_1_2",
      content: [{ type: "text", text: "seen" }],
      isError: false,
    } as const;
    const events = await ask(other.driver, {
      tools: [LOOK],
      messages: [question, { role: "assistant", content }, result],
    });
    expect(events.at(-1)).toEqual({ type: "done", reason: "tool-calls" });
  });

  it("leaves out thinking of other upstreams, and its own if the upstream cannot read it", async () => {
    const { driver, calls } = await setUp([{ text: "ok" }]);
    const own = `openai-reasoning:${JSON.stringify({ type: "reasoning", id: "rs_old", encrypted_content: "old" })}`;
    const thought = (signature: string) => ({ type: "thinking", text: "hm", signature }) as const;
    const said = { type: "text", text: "yes" } as const;
    const answer: Message = { role: "assistant", content: [thought("EqQB"), thought(own), said] };
    const events = await ask(driver, { messages: [question, answer, question] });
    expect(textsOf(events, "text")).toBe("ok");
    expect(calls.map(({ body }) => body.input.map(({ type }: { type: string }) => type))).toEqual([
      ["message", "reasoning", "message", "message"],
      ["message", "message", "message"],
    ]);
  });

  it("asks a model that cannot reason without it, once and for all", async () => {
    const server = await startApiServer((call, response) => {
      if (call.body?.reasoning) {
        return replyJson(
          response,
          400,
          errorBody("unsupported_parameter", "Unsupported parameter: 'reasoning.summary'."),
        );
      }
      return replyStream(response, responseStream([]));
    });
    const driver = createOpenAiDriver({ ...driverOptions(`${server.url}/v1`), api: "responses" });
    for (let time = 0; time < 2; time++) expect((await ask(driver)).at(-1)).toEqual({ type: "done", reason: "stop" });
    expect(server.calls.filter(({ path }) => path === "/v1/responses").map(({ body }) => "reasoning" in body)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it.each<[string, ResponsesReply, string]>([
    [
      "an error event",
      (_, response) =>
        replyStream(response, 'data: {"type":"error","code":"rate_limit_exceeded","message":"slow"}\n\n'),
      "rate-limited",
    ],
    [
      "response.failed",
      (_, response) =>
        replyStream(
          response,
          'data: {"type":"response.failed","response":{"error":{"code":"server_error","message":"oh"}}}\n\n',
        ),
      "upstream-failed",
    ],
    [
      "an early end",
      (_, response) => replyStream(response, responseStream([]).split("event: response.completed")[0] ?? ""),
      "upstream-unavailable",
    ],
    ["no JSON", (_, response) => replyStream(response, "data: {\n\n"), "upstream-protocol"],
    [
      "an item that is a number",
      (_, response) => replyStream(response, 'data: {"type":"response.output_item.done","item":1}\n\n'),
      "upstream-protocol",
    ],
  ])("fails as the upstream does: %s", async (_, reply, kind) => {
    const { driver } = await setUp(reply, reply);
    expect((await failureOf(ask(driver))).kind).toBe(kind);
  });

  it("says when the answer is cut short", async () => {
    const end = { incomplete_details: { reason: "max_output_tokens" } };
    const { driver } = await setUp((_, response) => replyStream(response, responseStream([], end)));
    expect((await ask(driver)).at(-1)).toEqual({ type: "done", reason: "length" });
  });

  it("is the default for OpenAI itself, and Chat Completions for others", async () => {
    const paths: string[] = [];
    const transport = {
      open: ({ path }: { path: string }) => {
        paths.push(path);
        throw new Error("enough");
      },
    };
    for (const baseURL of ["https://api.openai.com/v1", "https://other.example/v1"]) {
      const driver = createOpenAiDriver({ ...driverOptions(baseURL), transport: transport as never });
      await failureOf(ask(driver));
    }
    expect(paths.filter((path) => path !== "/v1/models")).toEqual(["/v1/responses", "/v1/chat/completions"]);
  });
});
