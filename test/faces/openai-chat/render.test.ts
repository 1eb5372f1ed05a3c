import fc from "fast-check";
import OpenAI from "openai";
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { JsonObject } from "../../../src/core/turn.ts";
import { errorBody } from "../../../src/faces/openai-chat/errors.ts";
import { done, text, thinking, usage } from "../../core/support/turns.ts";
import { cutInto, driverEvents } from "../support/driver-events.ts";
import { aFace, aRequest, CREATED, context, parse } from "./support/requests.ts";
import { readSse } from "./support/sse.ts";

const withUsage = { stream: true, stream_options: { include_usage: true } };
const head = { id: "chatcmpl-r1", object: "chat.completion.chunk", created: CREATED, model: "m" };

/** Each chunk exactly as a whole-object JSON.stringify would write it. */
const written = (...chunks: object[]) => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...head,
  choices: [{ index: 0, delta, ...(finish_reason !== null && { logprobs: null }), finish_reason }],
  ...(finish_reason !== null && { service_tier: "default" }),
});
const role = chunk({ role: "assistant", content: "", refusal: null });

async function render(over: object, ...batches: (readonly TurnEvent[])[]): Promise<string> {
  const renderer = (await parse(over)).stream();
  return batches.map((batch) => renderer.step(batch)).join("");
}

describe("the chunks", () => {
  const call = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] });
  const whole = { id: "a", type: "function", function: { name: "t", arguments: '{"x":1}' } };

  it.each<[string, readonly TurnEvent[], readonly object[]]>([
    ["text", [text('a"\n\u2028'), text("b")], [role, chunk({ content: 'a"\n\u2028' }), chunk({ content: "b" })]],
    ["half a character", [text("\ud83d")], [role, chunk({ content: "\ud83d" })]],
    [
      "thinking",
      [thinking("h"), { type: "thinking-done", durationMs: 1 }],
      [role, chunk({ reasoning_content: "h", reasoning: "h" })],
    ],
    ["nothing to show", [usage(), { type: "notice", code: "x", text: "y" }], []],
    ["a whole call", [{ type: "tool-call", id: "a", name: "t", args: { x: 1 } }], [role, call(0, whole)]],
    [
      "a call that was streamed, not told twice",
      [
        { type: "tool-call-start", id: "a", name: "t" },
        { type: "tool-call-delta", id: "a", json: '{"x"' },
        { type: "tool-call-delta", id: "a", json: "" },
        { type: "tool-call-delta", id: "a", json: ":1}" },
        { type: "tool-call", id: "a", name: "t", args: { x: 1 } },
      ],
      [
        role,
        call(0, { id: "a", type: "function", function: { name: "t", arguments: "" } }),
        call(0, { function: { arguments: '{"x"' } }),
        call(0, { function: { arguments: ":1}" } }),
      ],
    ],
    [
      "a call that began and came whole, and another",
      [
        { type: "tool-call-start", id: "a", name: "t" },
        { type: "tool-call", id: "a", name: "t", args: {} },
        { type: "tool-call", id: "b", name: "u", args: {} },
      ],
      [
        role,
        call(0, { id: "a", type: "function", function: { name: "t", arguments: "" } }),
        call(0, { function: { arguments: "{}" } }),
        call(1, { id: "b", type: "function", function: { name: "u", arguments: "{}" } }),
      ],
    ],
    ["pieces of a call that never began", [{ type: "tool-call-delta", id: "z", json: "{" }], []],
  ])("%s", async (_, events, expected) => {
    expect(await render({}, events)).toBe(written(...expected));
    expect(await render({}, ...events.map((event) => [event]))).toBe(written(...expected));
  });

  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["tool-calls", "tool_calls"],
    ["content-filter", "content_filter"],
  ] as const)("the end: %s is %s, and no usage that was not asked for", async (reason, finish) => {
    expect(await render({}, [usage(), done(reason)])).toBe(`${written(role, chunk({}, finish))}data: [DONE]\n\n`);
  });

  it("usage comes last with no choices, and is null before, if it was asked for", async () => {
    const nothing = { usage: null };
    expect(await render(withUsage, [text("a"), usage(), usage({ outputTokens: 7 }), done()])).toBe(
      `${written(
        { ...role, ...nothing },
        { ...chunk({ content: "a" }), ...nothing },
        { ...chunk({}, "stop"), ...nothing },
        {
          ...head,
          choices: [],
          service_tier: "default",
          usage: {
            prompt_tokens: 10,
            completion_tokens: 7,
            total_tokens: 17,
            prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2, audio_tokens: 0 },
            completion_tokens_details: {
              reasoning_tokens: 1,
              audio_tokens: 0,
              accepted_prediction_tokens: 0,
              rejected_prediction_tokens: 0,
            },
          },
        },
      )}data: [DONE]\n\n`,
    );
  });

  it("usage that is an estimate says so", async () => {
    const stream = await render(withUsage, [usage({ isEstimate: true }), done()]);
    expect(stream).toContain('"is_estimate":true');
  });

  it("a model's name cannot break the template", async () => {
    const model = '"@"@\\"@",{}';
    const stream = await render({ model }, [text("a")]);
    expect(stream).toBe(written({ ...role, model }, { ...chunk({ content: "a" }), model }));
  });

  it("a failure is told as an error, without any sign of success", async () => {
    const renderer = (await parse()).stream();
    const error = new ExcursorError("upstream-failed", "It broke.", { hint: "Try later." });
    expect(renderer.step([text("a")]) + renderer.fail(error, "r1")).toBe(
      written(role, chunk({ content: "a" }), {
        error: { message: "It broke. Try later.", type: "server_error", param: null, code: "upstream_error" },
      }),
    );
  });

  it("a failure without a hint of its own is not padded with that of its kind", async () => {
    const error = new ExcursorError("upstream-failed", "It broke.");
    expect((await parse()).stream().fail(error, "r1")).toContain('"message":"It broke."');
  });
});

describe("errors before the stream", () => {
  it("tell how long to wait, and whether to come back at all", () => {
    const limited = new ExcursorError("rate-limited", "Slow down.", { retryAfterMs: 1500 });
    expect(errorBody(limited, "r1")).toMatchObject({
      status: 429,
      headers: { "retry-after": "2", "retry-after-ms": "1500" },
    });
    expect(errorBody(limited, "r1").headers).not.toHaveProperty("x-should-retry");
    expect(errorBody(limited.with({ retryable: false }), "r1").headers).toMatchObject({
      "x-should-retry": "false",
    });
  });

  it("of our own making carry the request's id and nothing else", () => {
    const { body } = errorBody(ExcursorError.from(new Error("secret")), "r1");
    expect(JSON.stringify(body)).toContain("Request r1");
    expect(JSON.stringify(body)).not.toContain("secret");
  });
});

describe("whatever a driver says", () => {
  const anyAnswer = fc.tuple(driverEvents, fc.array(fc.nat(40)));

  it("makes a valid stream that says the same, and so does the whole answer", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, async ([events, cuts]) => {
        const batches = cutInto(events, cuts);
        const said = inWords(events);
        const data = readSse(await render(withUsage, ...batches));
        expect(data.pop()).toBe("[DONE]");
        expect(read(data.map((line) => JSON.parse(line) as ChatCompletionChunk))).toEqual(said);

        const collector = (await parse()).collect();
        for (const batch of batches) collector.step(batch);
        expect(fromCompletion(collector.body())).toEqual(said);
      }),
      { numRuns: 500 },
    );
  });

  it("is understood by OpenAI's own client, streamed or whole", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, async ([events, cuts]) => {
        const stream = await render(withUsage, ...cutInto(events, cuts));
        const collector = (await parse()).collect();
        collector.step(events);
        const client = clientOf((isStream) => (isStream ? stream : JSON.stringify(collector.body())));
        const request = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
        const said = inWords(events);

        const raw = await client.chat.completions.create({ ...request, stream: true });
        const chunks: ChatCompletionChunk[] = [];
        for await (const one of raw) chunks.push(one);
        expect(read(chunks)).toEqual(said);

        const whole: ChatCompletion = await client.chat.completions.create(request);
        expect(fromCompletion(whole)).toEqual(said);
      }),
      { numRuns: 100 },
    );
  });

  it("is put together by the client's stream helper", async () => {
    const events: TurnEvent[] = [
      thinking("hm"),
      text("a"),
      { type: "tool-call-start", id: "1", name: "t" },
      { type: "tool-call-delta", id: "1", json: '{"x":' },
      { type: "tool-call-delta", id: "1", json: "1}" },
      { type: "tool-call", id: "1", name: "t", args: { x: 1 } },
      usage(),
      done("tool-calls"),
    ];
    const stream = await render(withUsage, events);
    const runner = clientOf(() => stream).chat.completions.stream({
      model: "m",
      messages: [{ role: "user", content: "hi" }],
    });
    expect(fromCompletion(await runner.finalChatCompletion())).toMatchObject({
      text: "a",
      calls: [["1", "t", { x: 1 }]],
      finish: "tool_calls",
    });
  });

  it("a failure in the stream is thrown by the client", async () => {
    const renderer = (await parse()).stream();
    const stream = renderer.step([text("a")]) + renderer.fail(new ExcursorError("upstream-failed", "It broke."), "r1");
    const raw = await clientOf(() => stream).chat.completions.create({
      model: "m",
      messages: [{ role: "user", content: "hi" }],
      stream: true,
    });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const one of raw) seen.push(one);
    })();
    await expect(reading).rejects.toThrow("It broke.");
    expect(seen).toHaveLength(2);
  });
});

it("a whole answer is not whole before its done", async () => {
  const collector = (await aFace().parse(aRequest(), context)).collect();
  collector.step([text("a")]);
  expect(() => collector.body()).toThrow(ExcursorError);
});

function clientOf(answer: (isStream: boolean) => string): OpenAI {
  return new OpenAI({
    apiKey: "k",
    baseURL: "http://localhost/v1",
    maxRetries: 0,
    fetch: async (_, init) => {
      const isStream = String(init?.body).includes('"stream":true');
      const type = isStream ? "text/event-stream" : "application/json";
      return new Response(answer(isStream), { headers: { "content-type": type } });
    },
  });
}

interface Said {
  text: string;
  thinking: string;
  readonly calls: [id: string, name: string, args: unknown][];
  finish: string | undefined;
  usage: unknown;
}

function inWords(events: readonly TurnEvent[]): Said {
  const said: Said = { text: "", thinking: "", calls: [], finish: undefined, usage: undefined };
  for (const event of events) {
    if (event.type === "text") said.text += event.text;
    if (event.type === "thinking") said.thinking += event.text;
    if (event.type === "tool-call") said.calls.push([event.id, event.name, JSON.parse(JSON.stringify(event.args))]);
    if (event.type === "usage") said.usage = [event.usage.inputTokens, event.usage.outputTokens];
    if (event.type === "done") said.finish = event.reason.replace("-", "_");
  }
  return said;
}

type Reasoned = { readonly reasoning_content?: string };

/** Reads chunks as strictly as the strictest client of notes/clients.md. */
function read(chunks: readonly ChatCompletionChunk[]): Said {
  const said: Said = { text: "", thinking: "", calls: [], finish: undefined, usage: undefined };
  const args: string[] = [];
  expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
  for (const { id, object, created, model, choices, usage: total } of chunks) {
    expect({ id, object, created, model }).toEqual(head);
    if (total) {
      expect(choices).toEqual([]);
      said.usage = [total.prompt_tokens, total.completion_tokens];
      continue;
    }
    expect(said.finish, "nothing but usage follows the finish").toBeUndefined();
    const [choice] = choices;
    expect(choice?.index).toBe(0);
    said.finish = choice?.finish_reason ?? undefined;
    said.text += choice?.delta.content ?? "";
    said.thinking += (choice?.delta as Reasoned | undefined)?.reasoning_content ?? "";
    for (const call of choice?.delta.tool_calls ?? []) {
      if (call.index === said.calls.length) {
        expect(call.type).toBe("function");
        said.calls.push([call.id ?? "", call.function?.name ?? "", undefined]);
      }
      args[call.index] = (args[call.index] ?? "") + (call.function?.arguments ?? "");
    }
  }
  for (const [index, call] of said.calls.entries()) call[2] = JSON.parse(args[index] ?? "");
  return said;
}

function fromCompletion(body: ChatCompletion | JsonObject): Said {
  const { choices, usage: total } = body as unknown as ChatCompletion;
  const message = choices[0]?.message;
  const calls = (message?.tool_calls ?? []).map((call): Said["calls"][number] => {
    if (call.type !== "function") throw new Error("Not a function.");
    return [call.id, call.function.name, JSON.parse(call.function.arguments)];
  });
  return {
    text: message?.content ?? "",
    thinking: (message as Reasoned | undefined)?.reasoning_content ?? "",
    calls,
    finish: choices[0]?.finish_reason,
    usage: total && [total.prompt_tokens, total.completion_tokens],
  };
}
