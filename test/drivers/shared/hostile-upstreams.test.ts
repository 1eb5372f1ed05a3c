import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { createAnthropicDriver } from "../../../src/drivers/anthropic/driver.ts";
import { MessageReader } from "../../../src/drivers/anthropic/message-reader.ts";
import { ChunkReader } from "../../../src/drivers/openai/chunk-reader.ts";
import { createOpenAiDriver } from "../../../src/drivers/openai/driver.ts";
import { apiError } from "../../../src/drivers/shared/api/api-error.ts";
import type { ApiLimits } from "../../../src/drivers/shared/api/api-run.ts";
import { fuzzUpstreams, setUpHostileUpstream } from "../../attack/support/fuzz-upstreams.ts";
import { replyJson, startApiServer } from "../support/api-server.ts";
import { ask, driverOptions, failureOf } from "../support/open-driver.ts";

const options = { host: "api.example", toolName: (name: string) => name };

const readers = {
  anthropic: () => new MessageReader(options),
  openai: () => new ChunkReader(options),
};

function readAll(api: keyof typeof readers, events: readonly unknown[]): readonly TurnEvent[] {
  const reader = readers[api]();
  return [...events.flatMap((event) => reader.read("", JSON.stringify(event))), ...reader.end()];
}

const choice = (delta: unknown, finish_reason: unknown = null) => ({ choices: [{ delta, finish_reason }] });
const call = (more: object) => choice({ tool_calls: [{ index: 0, id: "1", function: { name: "look" }, ...more }] });
const block = (content_block: unknown, index: unknown = 0) => ({ type: "content_block_start", index, content_block });
const delta = (given: unknown, index: unknown = 0) => ({ type: "content_block_delta", index, delta: given });
const untold = { toString: 1 };

describe("events that are not of the protocol are a 502 that says so (FUZ-05)", () => {
  it.each<[keyof typeof readers, string, unknown[]]>([
    ["anthropic", "null", [null]],
    ["anthropic", "a list", [[]]],
    ["anthropic", "a text that is an object", [delta({ type: "text_delta", text: untold })]],
    ["anthropic", "a delta that is a text", [delta("hello")]],
    ["anthropic", "a block that is a list", [block([])]],
    ["anthropic", "an index that is an object", [block({ type: "thinking" }, untold)]],
    ["anthropic", "a message that is a number", [{ type: "message_start", message: 1 }]],
    ["anthropic", "a stop reason that is an object", [{ type: "message_delta", delta: { stop_reason: untold } }]],
    ["anthropic", "usage that is a text", [{ type: "message_delta", usage: "much" }]],
    [
      "anthropic",
      "a signature that is a number",
      [block({ type: "thinking" }), delta({ type: "signature_delta", signature: 1 })],
    ],
    ["anthropic", "a call without a name", [block({ type: "tool_use", id: "1" })]],
    ["openai", "null", [null]],
    ["openai", "choices that are an object", [{ choices: { 0: {} } }]],
    ["openai", "a choice that is null", [{ choices: [null] }]],
    ["openai", "a delta that is a text", [choice("hello")]],
    ["openai", "content that is an object", [choice({ content: untold })]],
    ["openai", "reasoning that is a number", [choice({ reasoning: 1 })]],
    ["openai", "calls that are an object", [choice({ tool_calls: {} })]],
    ["openai", "a call that is null", [choice({ tool_calls: [null] })]],
    ["openai", "a function that is a text", [call({ function: "look" })]],
    ["openai", "arguments that are an object", [call({ function: { name: "look", arguments: {} } })]],
    ["openai", "an index below nothing", [call({ index: -1 })]],
    ["openai", "a finish reason that is an object", [choice({}, untold)]],
    ["openai", "a call without a name", [call({ function: { arguments: "{}" } })]],
  ])("%s: %s", (api, _, events) => {
    expect(() => readAll(api, events)).toThrow(
      expect.objectContaining({ kind: "upstream-protocol", code: "bad_event" }),
    );
  });

  it.each(["constructor", "__proto__", "toString"])("the word %s is no more than a word", (word) => {
    const stopped = { type: "message_delta", delta: { stop_reason: word } };
    expect(readAll("anthropic", [stopped]).at(-1)).toEqual({ type: "done", reason: "stop" });
    expect(readAll("openai", [choice({}, word)]).at(-1)).toEqual({ type: "done", reason: "stop" });
    expect(apiError({ error: { type: word, code: word, message: "m" } }, "h").kind).toBe("upstream-failed");
  });

  it("more calls than any answer has are too many", () => {
    const events = Array.from({ length: 1025 }, (_, index) => call({ index, id: `c${index}` }));
    expect(() => readAll("openai", events)).toThrow(expect.objectContaining({ code: "too_many_calls" }));
  });
});

describe("what can be understood is", () => {
  const idsOf = (events: readonly TurnEvent[]) =>
    events.flatMap((event) => (event.type === "tool-call" ? [event.id] : []));

  it("calls of one id are told apart", () => {
    const calls = [0, 1, 2].map((index) => call({ index, id: "same" }));
    expect(new Set(idsOf(readAll("openai", [...calls, choice({}, "tool_calls")]))).size).toBe(3);
    const blocks = [0, 1, 2].map((index) => block({ type: "tool_use", id: "same", name: "look" }, index));
    const stop = { type: "message_delta", delta: { stop_reason: "tool_use" } };
    expect(new Set(idsOf(readAll("anthropic", [...blocks, stop]))).size).toBe(3);
  });

  it("a block that begins before the last one of its index has ended ends that one", () => {
    const [one, two] = ["a", "b"].map((id) => block({ type: "tool_use", id, name: "look", input: {} }));
    expect(
      idsOf(readAll("anthropic", [one, two, { type: "message_delta", delta: { stop_reason: "tool_use" } }])),
    ).toEqual(["a", "b"]);
  });

  it("text in parts is text", () => {
    const content = [
      { type: "thinking", thinking: [] },
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(readAll("openai", [choice({ content })])).toEqual([{ type: "text", text: "ab" }]);
  });

  it("figures that are none are left out, and no part is more than the whole", () => {
    const usage = { prompt_tokens: "12", completion_tokens: -1 };
    expect(readAll("openai", [{ ...choice({}, "stop"), usage }])).toEqual([{ type: "done", reason: "stop" }]);
    const parts = {
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    expect(readAll("openai", [{ ...choice({}, "stop"), usage: parts }])[0]).toMatchObject({
      usage: { inputTokens: 8, cachedTokens: 8, outputTokens: 4, reasoningTokens: 4 },
    });
  });
});

describe.each([
  ["anthropic", createAnthropicDriver, "", JSON.stringify(delta({ type: "text_delta", text: "more" }))],
  ["openai", createOpenAiDriver, "/v1", JSON.stringify(choice({ content: "more" }))],
] as const)("a stream of %s that does not end", (_, createDriver, path, more) => {
  async function setUp(limits: Partial<ApiLimits>, reply: (response: ServerResponse) => void) {
    const server = await startApiServer((call, response) => {
      // The list of models.
      if (call.method === "GET") return replyJson(response, 404, {});
      response.writeHead(200, { "content-type": "text/event-stream" });
      return reply(response);
    });
    return { server, driver: createDriver({ ...driverOptions(server.url + path), limits }) };
  }

  /** Until the reader leaves. */
  const repeat = (response: ServerResponse, text: string): void => {
    if (!response.destroyed) response.write(text, () => setImmediate(repeat, response, text));
  };

  it("is given up when only pings come, and closed", async () => {
    const { driver, server } = await setUp({ quietTimeoutMs: 200 }, (response) =>
      repeat(response, ': p\n\ndata: {"type":"ping"}\n\n'),
    );
    const error: ExcursorError = await failureOf(ask(driver));
    expect(error).toMatchObject({ kind: "timeout", code: "quiet_timeout" });
    await server.calls[0]?.closed;
  });

  it("is given up when it is longer than any answer, and closed", async () => {
    const { driver, server } = await setUp({ maxAnswerLength: 10_000 }, (response) =>
      repeat(response, `data: ${more}\n\n`),
    );
    expect(await failureOf(ask(driver))).toMatchObject({ kind: "upstream-protocol", code: "answer_too_long" });
    await server.calls[0]?.closed;
  });

  it("is closed a moment after its answer has ended", async () => {
    const end =
      path === ""
        ? [{ type: "message_delta", delta: { stop_reason: "end_turn" } }, { type: "message_stop" }]
        : [choice({}, "stop")];
    const text = [...end.map((event) => JSON.stringify(event)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
    const { driver, server } = await setUp({ lingerMs: 10 }, (response) => void response.write(text));
    expect((await ask(driver)).at(-1)).toEqual({ type: "done", reason: "stop" });
    await server.calls[0]?.closed;
  });

  it("is refused when it is compressed, which nobody asked for", async () => {
    const server = await startApiServer((_call, response) =>
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "br" }).end("?"),
    );
    const driver = createDriver(driverOptions(server.url + path));
    expect(await failureOf(ask(driver))).toMatchObject({ kind: "upstream-protocol" });
  });
});

it("no answer of a public API fails the gateway, hangs it or stays open: a few, always the same", async () => {
  const stage = await setUpHostileUpstream();
  await fuzzUpstreams(stage, { seed: 17, path: "", numRuns: 150, interruptAfterTimeLimit: 15_000 });
});
