import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY, setUpGateway } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** The smallest there is: one pixel. */
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MODEL = "gpt-5.5";
const look: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "look",
  description: "looks",
  strict: false,
  parameters: { type: "object", properties: { at: { type: "string" } } },
};
const patch: OpenAI.Responses.CustomTool = {
  type: "custom",
  name: "patch",
  description: "patches",
  format: { type: "grammar", syntax: "lark", definition: 'start: "x"' },
};

type Item = OpenAI.Responses.ResponseInputItem;

const callsIn = (response: OpenAI.Responses.Response) =>
  response.output.filter((item) => item.type === "function_call");

const results = (response: OpenAI.Responses.Response): Item[] =>
  callsIn(response).map(({ call_id, arguments: args }) => ({
    type: "function_call_output",
    call_id,
    output: `saw ${JSON.parse(args).at}`,
  }));

describe.each(["h2", "h1"] as const)("responses of OpenAI's own client, backend over %s", (hostConfig) => {
  it(
    "creates: what the backend received is what the client sent",
    proves("openai-sdk", "responses", "whole", "images", "usage"),
    async () => {
      const { client } = await sharedGateway({ hostConfig });
      const response = await client.responses.create({
        model: MODEL,
        instructions: "Be brief.",
        reasoning: { effort: "high" },
        input: [
          { role: "developer", content: "Be kind." },
          { role: "user", content: "first" },
          { role: "assistant", content: "answer" },
          {
            role: "user",
            content: [
              { type: "input_text", text: "@sim usage 100 20 5 ;; say {{system}}|{{history}}|{{images}}|{{model}}" },
              { type: "input_image", image_url: PNG, detail: "high" },
            ],
          },
        ],
      });
      expect(response.output_text.split("|")).toEqual([
        "Be brief.\n\nBe kind.",
        "user: first\nassistant: answer",
        "1 image/png:70",
        expect.stringMatching(/^gpt-5\.5(-high| .*=high)/),
      ]);
      expect(response).toMatchObject({
        status: "completed",
        model: MODEL,
        usage: {
          input_tokens: 100,
          output_tokens: 20,
          total_tokens: 120,
          input_tokens_details: { cached_tokens: 5 },
        },
      });
    },
  );

  it(
    "streams thinking and text as items, each added, written and done, and numbered",
    proves("openai-sdk", "responses", "stream", "thinking"),
    async () => {
      const { client } = await sharedGateway({ hostConfig });
      const stream = client.responses.stream({
        model: MODEL,
        input: "@sim think let me see ;; say hello wide world",
        include: ["reasoning.encrypted_content"],
      });
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of stream) events.push(event);
      expect(events.map(({ type }) => type).filter((type, n, all) => type !== all[n - 1])).toEqual([
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
      ]);
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, n) => n));
      const final = await stream.finalResponse();
      expect(final.output_text).toBe("hello wide world");
      expect(final.output[0]).toMatchObject({
        type: "reasoning",
        summary: [{ type: "summary_text", text: "let me see" }],
        encrypted_content: expect.any(String),
      });
      const [last] = events.slice(-1);
      expect(last?.type === "response.completed" && last.response.output).toEqual(final.output.map(withoutParsed));
    },
  );

  it(
    "goes on by previous_response_id, on the same upstream stream after tool calls, and after a restart",
    proves("openai-sdk", "responses", "tools"),
    async () => {
      const { open, trace } = await setUpGateway({ hostConfig });
      const gateway = await open();
      const ask = (client: OpenAI, input: string | Item[], previous_response_id?: string) =>
        client.responses.create({
          model: MODEL,
          input,
          tools: [look],
          ...(previous_response_id !== undefined && { previous_response_id }),
        });
      const first = await ask(
        gateway.client,
        '@sim say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}',
      );
      expect(first.output.map(({ type }) => type)).toEqual(["message", "function_call", "function_call"]);
      const second = await ask(gateway.client, results(first), first.id);
      expect(second.output_text).toBe("saw a saw b stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
      await gateway.stop();
      const { client } = await open();
      const third = await ask(client, "@sim say {{reused}}", second.id);
      expect(third.output_text).toBe("checkpoint");
      const forked = await ask(client, "@sim say {{history}}", first.id);
      expect(forked.output_text).toContain("assistant: first");
    },
  );

  it(
    "an upstream failure in the middle is thrown, and no sign of success follows",
    proves("openai-sdk", "responses", "errors"),
    async () => {
      const { client, url } = await sharedGateway({ hostConfig });
      const body = { model: MODEL, input: "@sim say shown ;; fail internal went wrong", stream: true as const };
      const stream = await client.responses.create(body);
      let text = "";
      await expect(async () => {
        for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
      }).rejects.toMatchObject({ message: expect.stringContaining("went wrong") });
      expect(text).toBe("shown");
      const raw = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const sent = await raw.text();
      expect(sent).toMatch(/event: error\ndata: .*\n\nevent: response\.failed\ndata: .*"status":"failed".*\n\n$/);
      expect(sent).not.toContain("response.completed");
      expect(sent).not.toContain("output_item.done");
    },
  );
});

describe("what the gateway keeps for a client", () => {
  it("retrieves and deletes an answer and its input, for its own key alone", async () => {
    const { client, url } = await sharedGateway();
    const made = await client.responses.create({
      model: MODEL,
      input: [{ role: "user", content: "@sim think hm ;; say kept" }],
      metadata: { a: "b" },
    });
    const { _request_id: _, output_text, ...expected } = made as typeof made & { _request_id?: string };
    expect(await client.responses.retrieve(made.id)).toMatchObject({ ...expected, output_text });
    const input = await client.responses.inputItems.list(made.id);
    expect(input.data).toMatchObject([{ role: "user", id: expect.stringMatching(/^msg_/) }]);
    const sealed = await client.responses.retrieve(made.id, { include: ["reasoning.encrypted_content"] });
    expect(sealed.output[0]).toMatchObject({ type: "reasoning", encrypted_content: expect.any(String) });

    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const jwt = `${part({ alg: "none" })}.${part({ sub: "auth0|user_9", exp: 4_000_000_000 })}.${"s".repeat(43)}`;
    const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: jwt, maxRetries: 0 });
    await expect(other.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
    await expect(other.responses.delete(made.id)).rejects.toMatchObject({ status: 404 });
    const stolen = other.responses.create({ model: MODEL, input: "hi", previous_response_id: made.id });
    await expect(stolen).rejects.toMatchObject({
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
    const [item] = made.output;
    const peeked = other.responses.create({
      model: MODEL,
      input: [
        { type: "item_reference", id: made.output[1]?.id ?? "" },
        { role: "user", content: "hi" },
      ],
    });
    await expect(peeked).rejects.toMatchObject({ status: 404, param: "input[0]" });
    expect(item?.type).toBe("reasoning");

    await client.responses.delete(made.id);
    await expect(client.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404, code: "response_not_found" });
    const late = client.responses.create({ model: MODEL, input: "hi", previous_response_id: made.id });
    await expect(late).rejects.toMatchObject({ code: "previous_response_not_found" });
  });

  it("keeps nothing where the client says so", async () => {
    const { client } = await sharedGateway();
    const made = await client.responses.create({ model: MODEL, input: "@sim say gone", store: false });
    await expect(client.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
    const late = client.responses.create({ model: MODEL, input: "hi", previous_response_id: made.id });
    await expect(late).rejects.toMatchObject({ status: 400, code: "previous_response_not_found" });
  });
});

describe("tools and formats", () => {
  it("a custom tool gets its raw input, and its output goes back on the same stream", async () => {
    const { client } = await sharedGateway();
    const input: Item[] = [
      { role: "user", content: '@sim call patch {"input":"line 1\\nline 2"} ;; say {{result}} {{reused}}' },
    ];
    const stream = client.responses.stream({ model: MODEL, input, tools: [patch], store: false });
    const deltas: string[] = [];
    for await (const event of stream) {
      if (event.type === "response.custom_tool_call_input.delta") deltas.push(event.delta);
    }
    const { output } = await stream.finalResponse();
    const [call] = output;
    if (call?.type !== "custom_tool_call") throw new Error("no custom call");
    expect([call.name, call.input, deltas.join("")]).toEqual(["patch", "line 1\nline 2", "line 1\nline 2"]);
    const answered: Item = {
      type: "custom_tool_call_output",
      call_id: call.call_id,
      output: [{ type: "input_text", text: "patched" }],
    };
    const next = await client.responses.create({
      model: MODEL,
      input: [...input, ...(output as Item[]), answered],
      tools: [patch],
    });
    expect(next.output_text).toBe("patched stream");
  });

  it("tools of namespaces and of an additional_tools item are called by their own names", async () => {
    const { client } = await sharedGateway();
    const response = await client.responses.create({
      model: MODEL,
      input: [
        {
          type: "additional_tools",
          role: "developer",
          tools: [{ type: "namespace", name: "functions", description: "", tools: [{ ...patch, name: "exec" }] }],
        },
        { role: "user", content: '@sim call exec {"input":"run()"} ;; call look {"at":"x"}' },
      ],
      tools: [{ type: "namespace", name: "eyes", description: "sight", tools: [look] }, { type: "web_search" }],
    });
    expect(response.output).toMatchObject([
      { type: "custom_tool_call", name: "exec", namespace: "functions", input: "run()" },
      { type: "function_call", name: "look", namespace: "eyes", arguments: '{"at":"x"}' },
    ]);
  });

  it("tools that the client's own search finds can be called right away", async () => {
    const { client } = await sharedGateway();
    const search: OpenAI.Responses.ToolSearchTool = { type: "tool_search", execution: "client", parameters: {} };
    const input: Item[] = [
      {
        role: "user",
        content: '@sim call tool_search {"query":"eyes"} ;; wait ;; call look {"at":"x"} ;; say {{tools}}',
      },
    ];
    const ask = () => client.responses.create({ model: MODEL, input, tools: [search], store: false });
    const [searched] = (await ask()).output;
    if (searched?.type !== "tool_search_call") throw new Error("no search");
    expect(searched.arguments).toEqual({ query: "eyes" });
    const { call_id } = searched;
    input.push(searched, { type: "tool_search_output", call_id, execution: "client", tools: [look] });
    expect((await ask()).output).toMatchObject([{ type: "function_call", name: "look", arguments: '{"at":"x"}' }]);
  });

  it(
    "parses structured output, stops at max_output_tokens, and lists what it cannot honour",
    proves("openai-sdk", "responses", "structured"),
    async () => {
      const { client } = await sharedGateway();
      const parsed = await client.responses.parse({
        model: MODEL,
        input: '@sim say {"answer": 42}',
        text: { format: zodTextFormat(z.object({ answer: z.number() }), "answer") },
      });
      expect(parsed.output_parsed).toEqual({ answer: 42 });
      const short = await client.responses.create({
        model: MODEL,
        input: "@sim tokens 500 0 ;; silent 60000",
        max_output_tokens: 10,
      });
      expect(short).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
      const { response } = await client.responses
        .create({ model: MODEL, input: "@sim say hi", temperature: 0.2, tools: [{ type: "web_search" }] })
        .withResponse();
      expect(response.headers.get("x-excursor-ignored")).toBe("tools.web_search, temperature");
    },
  );

  it(
    "calls tools at once and again, round after round, on one run",
    proves("openai-sdk", "responses", "tools", "parallel", "rounds"),
    async () => {
      const { client, trace } = await sharedGateway();
      const rounds = ["b", "c", "d"].map((at) => `call look {"at":"${at}"} ;; wait`);
      const prompt = `@sim call look {"at":"a"} ;; ${rounds.join(" ;; ")} ;; say {{result.0}} {{result.3}} {{reused}}`;
      const input: Item[] = [{ role: "user", content: prompt }];
      let response = await client.responses.create({ model: MODEL, input, tools: [look], store: false });
      const counts: number[] = [];
      while (callsIn(response).length > 0) {
        counts.push(callsIn(response).length);
        input.push(...(response.output as Item[]), ...results(response));
        response = await client.responses.create({ model: MODEL, input, tools: [look], store: false });
      }
      expect([counts, response.output_text]).toEqual([[2, 1, 1], "saw a saw d stream"]);
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );

  it(
    "errors before the first token have their status, and the client's own retries work",
    proves("openai-sdk", "responses", "errors"),
    async () => {
      const { client, url } = await sharedGateway();
      for (const [step, status] of [
        ["fail unauthenticated ERROR_NOT_LOGGED_IN", 401],
        ["fail http=429", 429],
        ["fail invalid_argument ERROR_CONVERSATION_TOO_LONG", 400],
      ] as const) {
        for (const stream of [true, false]) {
          const asked = client.responses.create({ model: MODEL, input: `@sim ${step}`, stream });
          await expect(asked, step).rejects.toMatchObject({ status });
        }
      }
      const unknown = client.responses.create({ model: "gpt-5.6", input: "hi" });
      await expect(unknown).rejects.toMatchObject({ status: 404, code: "model_not_found" });
      const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 2 });
      const { output_text } = await patient.responses.create({
        model: MODEL,
        input: "@sim fail resource_exhausted ERROR_RATE_LIMITED retry=0 times=1 ;; say at last",
      });
      expect(output_text).toBe("at last");
    },
  );

  it("counts what the model would read, and asks nobody", async () => {
    const { client, trace } = await sharedGateway();
    const counted = await client.responses.inputTokens.count({ input: "x".repeat(4000), tools: [look] });
    expect(counted.object).toBe("response.input_tokens");
    expect(counted.input_tokens).toBeGreaterThan(1000);
    await expect(client.responses.inputTokens.count({ input: [] })).rejects.toMatchObject({ status: 400 });
    expect(trace.some(({ kind }) => kind === "run_request")).toBe(false);
  });

  it("an abort reaches the backend", proves("openai-sdk", "responses", "abort"), async () => {
    const { client, trace } = await sharedGateway();
    const stream = await client.responses.create({ model: MODEL, input: "@sim say a ;; silent 60000", stream: true });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 5000 }).toBe(true);
  });
});

/** The client's helper adds fields of its own to what it was sent. */
function withoutParsed<T extends object>(item: T): unknown {
  return JSON.parse(JSON.stringify(item, (key, value) => (key.startsWith("parsed") ? undefined : value)));
}
