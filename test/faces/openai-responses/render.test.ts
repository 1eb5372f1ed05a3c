import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { DoneReason, TurnEvent } from "../../../src/core/events.ts";
import { redactedSignature } from "../../../src/core/thinking/redacted-thinking.ts";
import type { JsonObject } from "../../../src/core/turn.ts";
import { cutInto, driverEvents } from "../support/driver-events.ts";
import { CREATED, parse } from "./support/requests.ts";

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;
type Response_ = OpenAI.Responses.Response;

const text = (value: string): TurnEvent => ({ type: "text", text: value });
const thinking = (value: string): TurnEvent => ({ type: "thinking", text: value });
const done = (reason: DoneReason): TurnEvent => ({ type: "done", reason });
const usage: TurnEvent = {
  type: "usage",
  usage: {
    inputTokens: 10,
    outputTokens: 5,
    cachedTokens: 3,
    cacheWrittenTokens: 0,
    reasoningTokens: 2,
    isEstimate: false,
  },
};
const tools = [
  { type: "function", name: "f" },
  { type: "custom", name: "c" },
  { type: "namespace", name: "n", tools: [{ type: "custom", name: "exec" }] },
  { type: "tool_search", execution: "client" },
];

/** The events of a stream, by the rules of the specification as far as we use them. */
function readEvents(stream: string): StreamEvent[] {
  const blocks = stream.split("\n\n");
  if (blocks.pop() !== "") throw new Error("The last event is not closed.");
  return blocks.map((block) => {
    const [, name, data] = /^event: ([\w.]+)\ndata: ([^\r\n]*)$/.exec(block) ?? [];
    const event = JSON.parse(data ?? "") as StreamEvent;
    expect(event.type).toBe(name);
    return event;
  });
}

async function render(events: readonly TurnEvent[], over: object = {}): Promise<StreamEvent[]> {
  return readEvents((await parse({ tools, ...over })).stream().step(events));
}

async function collect(events: readonly TurnEvent[], over: object = {}): Promise<Response_> {
  const collector = (await parse({ tools, ...over })).collect();
  collector.step(events);
  return collector.body() as unknown as Response_;
}

const names = (events: readonly StreamEvent[]) => events.map(({ type }) => type.replace("response.", ""));

describe("a stream", () => {
  it("says nothing until there is something to say, and then begins", async () => {
    const renderer = (await parse()).stream();
    expect(renderer.step([usage, { type: "notice", code: "x", text: "y" }])).toBe("");
    expect(names(readEvents(renderer.step([text("a")])))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
    ]);
    expect(names(readEvents(renderer.step([text("b")])))).toEqual(["output_text.delta"]);
  });

  it("of a call: arguments as they come, and the same arguments at its end", async () => {
    const events = await render([
      text("a"),
      { type: "tool-call-start", id: "1", name: "f" },
      { type: "tool-call-delta", id: "1", json: '{"x": ' },
      { type: "tool-call-delta", id: "1", json: "1}" },
      { type: "tool-call", id: "1", name: "f", args: { x: 1 } },
      done("tool-calls"),
    ]);
    expect(names(events).slice(5)).toEqual([
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed",
    ]);
    expect(events.at(-2)).toMatchObject({
      output_index: 1,
      item: { type: "function_call", call_id: "1", name: "f", arguments: '{"x": 1}', status: "completed" },
    });
  });

  const crossing: TurnEvent[] = [
    { type: "tool-call-start", id: "1", name: "f" },
    { type: "tool-call-start", id: "2", name: "f" },
    { type: "tool-call-delta", id: "2", json: "{}" },
    text("so"),
    { type: "tool-call", id: "2", name: "f", args: {} },
    { type: "tool-call-delta", id: "unknown", json: "{}" },
  ];

  it("of calls that come in each other's way: one item after the other", async () => {
    const events = await render([
      ...crossing,
      { type: "tool-call", id: "1", name: "f", args: { y: 2 } },
      done("tool-calls"),
    ]);
    const places = events.flatMap(({ type, ...event }) =>
      /item\.(?:added|done)/.test(type) && "output_index" in event
        ? [`${type.split(".").at(-1)} ${event.output_index}`]
        : [],
    );
    expect(places).toEqual(["added 0", "done 0", "added 1", "done 1", "added 2", "done 2"]);
    expect(itemsOf(events)).toMatchObject([
      { call_id: "1", arguments: '{"y":2}', status: "completed" },
      { call_id: "2", arguments: "{}", status: "completed" },
      { type: "message", content: [{ text: "so" }] },
    ]);
  });

  it("of calls that never become whole: what waited for them is said all the same", async () => {
    const { output } = await collect([...crossing.slice(0, 4), done("length")]);
    expect(output).toMatchObject([
      { call_id: "1", arguments: "", status: "incomplete" },
      { call_id: "2", arguments: "{}", status: "incomplete" },
      { type: "message", content: [{ text: "so" }] },
    ]);
  });

  it.each<[string, JsonObject, object]>([
    ["c", { input: "raw\n" }, { type: "custom_tool_call", name: "c", input: "raw\n" }],
    ["c", { text: "raw" }, { type: "custom_tool_call", input: "raw" }],
    ["c", { a: 1 }, { type: "custom_tool_call", input: '{"a":1}' }],
    ["exec", { input: "x()" }, { type: "custom_tool_call", name: "exec", namespace: "n", input: "x()" }],
    [
      "tool_search",
      { query: "q" },
      { type: "tool_search_call", execution: "client", arguments: { query: "q" }, status: "completed" },
    ],
    ["never_offered", {}, { type: "function_call", name: "never_offered", arguments: "{}", status: "completed" }],
  ])("a call of %s is an item of its kind", async (name, args, item) => {
    const call: TurnEvent[] = [
      { type: "tool-call-start", id: "1", name },
      { type: "tool-call", id: "1", name, args },
    ];
    const events = await render([...call, done("tool-calls")]);
    expect(events.find(({ type }) => type === "response.output_item.done")).toMatchObject({
      item: { ...item, call_id: "1" },
    });
  });

  it("thoughts are summaries, sealed if asked for, each block an item of its own", async () => {
    const thoughts: TurnEvent[] = [
      thinking("a"),
      { type: "thinking-done", durationMs: 1 },
      thinking("b"),
      text("c"),
      done("stop"),
    ];
    const summary = (value: string) => ({ type: "reasoning", summary: [{ type: "summary_text", text: value }] });
    const { output } = await collect(thoughts);
    expect(output).toMatchObject([summary("a"), summary("b"), { type: "message" }]);
    expect(JSON.stringify(output)).not.toContain("encrypted_content");
    const sealed = await collect(thoughts, { include: ["reasoning.encrypted_content"], store: false });
    expect(sealed.output[0]).toMatchObject({ encrypted_content: expect.any(String) });
  });

  it("the input of a custom tool comes as the model writes it", async () => {
    const pieces = ['{"in', 'put": "*** Begin\\', "nPatch \\ud83d", "\\ude00", '"', "}"];
    const events = await render([
      { type: "tool-call-start", id: "1", name: "c" },
      ...pieces.map((json): TurnEvent => ({ type: "tool-call-delta", id: "1", json })),
      { type: "tool-call", id: "1", name: "c", args: JSON.parse(pieces.join("")) as JsonObject },
      done("tool-calls"),
    ]);
    expect(events.flatMap((event) => ("delta" in event ? [event.delta] : []))).toEqual([
      "*** Begin",
      "\nPatch ",
      "\u{1f600}",
    ]);
    expect(events.at(-3)).toMatchObject({
      type: "response.custom_tool_call_input.done",
      input: "*** Begin\nPatch \u{1f600}",
    });
  });

  it.each<[string, string, JsonObject, string]>([
    ["of another name", '{"text": "raw"}', { text: "raw" }, "raw"],
    ["that is broken off", '{"input": "raw', { invalid_arguments: '{"input": "raw' }, "raw"],
    ["that is given twice", '{"input": "a", "input": "b"}', { input: "b" }, "a"],
  ])("input %s adds up, too", async (_, json, args, input) => {
    const events = await render([
      { type: "tool-call-start", id: "1", name: "c" },
      { type: "tool-call-delta", id: "1", json },
      { type: "tool-call", id: "1", name: "c", args },
      done("tool-calls"),
    ]);
    expect(events.map((event) => ("delta" in event ? event.delta : "")).join("")).toBe(input);
    expect(events.at(-1)).toMatchObject({ response: { output: [{ type: "custom_tool_call", input }] } });
  });

  it("thinking without a text is an item that brings back what it was sealed with", async () => {
    const signature = redactedSignature("EmwKAhgBEgy3va3pzix/LafPsn4a");
    const answer: TurnEvent[] = [{ type: "thinking-done", durationMs: 0, signature }, text("a"), done("stop")];
    const over = { include: ["reasoning.encrypted_content"] };
    const events = await render(answer, over);
    expect(names(events).slice(0, 4)).toEqual(["created", "in_progress", "output_item.added", "output_item.done"]);
    const { output } = await collect(answer, over);
    expect(output).toMatchObject([{ type: "reasoning", summary: [] }, { type: "message" }]);
    const { turn } = await parse({ input: [...output, { role: "user", content: "more" }] });
    expect(turn.messages[0]?.content).toEqual([
      { type: "thinking", text: "", signature },
      { type: "text", text: "a" },
    ]);
    expect((await collect(answer)).output[0]).toEqual({
      id: expect.any(String),
      type: "reasoning",
      content: [],
      summary: [],
    });
  });

  it("an end before the end is incomplete, and so is what was being written", async () => {
    const cut: TurnEvent[] = [text("a"), { type: "tool-call-start", id: "1", name: "f" }, done("length")];
    const events = await render(cut);
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        output: [{ status: "completed" }, { type: "function_call", status: "incomplete", arguments: "" }],
      },
    });
    expect(await collect([text("a"), done("content-filter")])).toMatchObject({
      incomplete_details: { reason: "content_filter" },
      output: [{ type: "message", status: "incomplete" }],
    });
  });

  it("thinking ends before an error, as incomplete", async () => {
    const renderer = (await parse()).stream();
    const failed = readEvents(
      renderer.step([thinking("hm")]) + renderer.fail(new ExcursorError("rate-limited", "Slow down."), "r1"),
    );
    expect(names(failed).slice(-5)).toEqual([
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "error",
      "failed",
    ]);
    const item = { type: "reasoning", status: "incomplete", summary: [{ text: "hm" }] };
    expect(failed.slice(-3)).toMatchObject([{ item }, {}, { response: { status: "failed", output: [item] } }]);
  });

  it("a failure is told twice over, and nothing looks done", async () => {
    const renderer = (await parse()).stream();
    const before = renderer.step([thinking("x"), { type: "thinking-done", durationMs: 1 }, text("a")]);
    const failed = readEvents(before + renderer.fail(new ExcursorError("rate-limited", "Slow down."), "r1"));
    const told = { code: "rate_limit_exceeded", message: "Slow down." };
    expect(failed.slice(-2)).toMatchObject([
      { type: "error", ...told, param: null, error: { ...told, type: "rate_limit_error" } },
      { type: "response.failed", response: { status: "failed", error: told, output: [{ type: "reasoning" }] } },
    ]);
    expect(failed.map(({ sequence_number }) => sequence_number)).toEqual(failed.map((_, n) => n));
  });
});

it("a response says again what was asked, and what it cost", async () => {
  const asked = {
    model: "m",
    instructions: "i",
    metadata: { a: "b" },
    tools: [{ type: "function", name: "f", parameters: {}, strict: true }],
    tool_choice: "none",
    text: { format: { type: "json_object" }, verbosity: "low" },
    reasoning: { effort: "low" },
    max_output_tokens: 9,
  };
  expect(await collect([usage, done("stop")], asked)).toMatchObject({
    ...asked,
    // The schema's description is null, and what nobody applies is not repeated.
    tools: [{ ...asked.tools[0], description: null, strict: false }],
    text: { ...asked.text, verbosity: "medium" },
    completed_at: expect.any(Number),
    id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
    object: "response",
    created_at: CREATED,
    status: "completed",
    output: [],
    store: true,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: expect.any(Number) },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    },
  });
});

it("a whole answer is not whole before its done", async () => {
  const collector = (await parse()).collect();
  collector.step([text("a")]);
  expect(() => collector.body()).toThrow(ExcursorError);
});

describe("whatever a driver says", () => {
  it("makes a stream that says the same in any batches, and so does the whole answer", async () => {
    await fc.assert(
      fc.asyncProperty(driverEvents, fc.array(fc.nat(30)), async (events, cuts) => {
        const renderer = (await parse()).stream();
        const stream = cutInto(events, cuts)
          .map((batch) => renderer.step(batch))
          .join("");
        const seen = readEvents(stream);
        expect(seen.map(({ sequence_number }) => sequence_number)).toEqual(seen.map((_, n) => n));
        const items = itemsOf(seen);
        const last = seen.at(-1) as { readonly response: Response_ };
        expect(last.response.output).toEqual(items);
        expect(saidIn(items)).toEqual(saidBy(events));
        // Without tools, as the stream: of these, a generated name could be a custom one.
        expect(saidIn((await collect(events, { tools: [] })).output)).toEqual(saidBy(events));
      }),
    );
  });

  it("is put together by OpenAI's own client", async () => {
    await fc.assert(
      fc.asyncProperty(driverEvents, async (events) => {
        const stream = (await parse()).stream().step(events);
        const client = new OpenAI({
          apiKey: "k",
          baseURL: "http://localhost/v1",
          maxRetries: 0,
          fetch: async () => new Response(stream, { headers: { "content-type": "text/event-stream" } }),
        });
        const final = await client.responses.stream({ model: "m", input: "hi" }).finalResponse();
        expect(saidIn(final.output)).toEqual(saidBy(events));
      }),
      { numRuns: 50 },
    );
  });
});

/** Builds the items from the deltas, as strictly as the strictest client, and holds them against what is done. */
function itemsOf(events: readonly StreamEvent[]): unknown[] {
  const written = new Map<string, string>();
  const doneItems: unknown[] = [];
  const open = new Set<string>();
  expect(names(events).slice(0, 2)).toEqual(["created", "in_progress"]);
  for (const event of events) {
    if (event.type === "response.output_item.added") {
      expect(event.output_index).toBe(open.size + doneItems.filter(Boolean).length);
      open.add(event.item.id ?? "");
      written.set(event.item.id ?? "", "");
    }
    if ("delta" in event && "item_id" in event) {
      expect(open).toContain(event.item_id);
      written.set(event.item_id, (written.get(event.item_id) ?? "") + event.delta);
    }
    if (event.type !== "response.output_item.done") continue;
    const { item, output_index } = event;
    expect(open.delete(item.id ?? "")).toBe(true);
    expect(written.get(item.id ?? "")).toBe(contentOf(item));
    doneItems[output_index] = item;
  }
  expect(open.size).toBe(0);
  return doneItems;
}

function contentOf(item: OpenAI.Responses.ResponseOutputItem): string {
  if (item.type === "function_call") return item.arguments;
  if (item.type === "reasoning") return item.summary.map((part) => part.text).join("");
  if (item.type !== "message") throw new Error("No such item here.");
  return item.content.map((part) => (part.type === "output_text" ? part.text : "")).join("");
}

interface Said {
  text: string;
  thinking: string;
  readonly calls: [id: string, name: string, args: unknown][];
}

function saidBy(events: readonly TurnEvent[]): Said {
  const said: Said = { text: "", thinking: "", calls: [] };
  for (const event of events) {
    if (event.type === "text") said.text += event.text;
    if (event.type === "thinking") said.thinking += event.text;
    if (event.type === "tool-call") said.calls.push([event.id, event.name, JSON.parse(JSON.stringify(event.args))]);
  }
  return said;
}

function saidIn(items: readonly unknown[]): Said {
  const said: Said = { text: "", thinking: "", calls: [] };
  for (const item of items as readonly OpenAI.Responses.ResponseOutputItem[]) {
    if (item.type === "message") said.text += contentOf(item);
    if (item.type === "reasoning") said.thinking += contentOf(item);
    if (item.type === "function_call") said.calls.push([item.call_id, item.name, JSON.parse(item.arguments)]);
  }
  return said;
}

it.each([
  ["temperature", { temperature: 0.2 }, { temperature: 1 }],
  ["top_p", { top_p: 0.2 }, { top_p: 1 }],
  ["effort", { reasoning: { effort: "low", summary: "auto" } }, { reasoning: { effort: null, summary: "auto" } }],
])("an answer does not repeat %s if the upstream ignores it", async (name, asked, said) => {
  expect(await collect([text("a"), done("stop")], asked)).toMatchObject(asked);
  const ignored: TurnEvent = { type: "notice", code: "ignored", text: name };
  expect(await collect([ignored, text("a"), done("stop")], asked)).toMatchObject(said);
  const renderer = (await parse(asked)).stream();
  const [created] = readEvents(renderer.step([ignored]) + renderer.step([text("a")]));
  expect(created).toMatchObject({ response: said });
});

it("an answer does not repeat tools that only the service runs", async () => {
  const { tools } = await collect([done("stop")], { tools: [{ type: "web_search" }, { type: "custom", name: "c" }] });
  expect(tools).toEqual([{ type: "custom", name: "c" }]);
});
