import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { errorBody } from "../../../src/faces/anthropic-messages/errors.ts";
import { mintSignature, SignatureMint } from "../../../src/faces/anthropic-messages/signature.ts";
import { done, text, thinking, usage } from "../../core/support/turns.ts";
import { anthropicMessages } from "../../gateway/support/dialects/anthropic-messages.ts";
import { cutInto, driverEvents } from "../support/driver-events.ts";
import { parse } from "./support/requests.ts";

/** Each event exactly as a whole-object JSON.stringify would write it. */
const written = (...events: { readonly type: string }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const opening = {
  input_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
  output_tokens_details: { thinking_tokens: 0 },
  server_tool_use: null,
  is_estimate: true,
  cache_creation: null,
  service_tier: "standard",
  inference_geo: null,
  speed: null,
};
const unstopped = { container: null, stop_details: null, stop_reason: null, stop_sequence: null };
const started = {
  type: "message_start",
  message: {
    id: "msg_r1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    diagnostics: null,
    ...unstopped,
    usage: opening,
  },
};
const ping = { type: "ping" };
const begun = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, of: object) => ({ type: "content_block_delta", index, delta: of });
const said = (index: number, value: string) => delta(index, { type: "text_delta", text: value });
const thought = (index: number, value: string) => delta(index, { type: "thinking_delta", thinking: value });
const signed = (index: number, signature: string) => delta(index, { type: "signature_delta", signature });
const json = (index: number, partial_json: string) => delta(index, { type: "input_json_delta", partial_json });
const ended = (index: number) => ({ type: "content_block_stop", index });
const TEXT = { type: "text", text: "", citations: null };
const THINKING = { type: "thinking", thinking: "", signature: "" };
const used = (id: string, name = "t") => ({ type: "tool_use", id, name, input: {}, caller: { type: "direct" } });

const whole = (id: string, args = {}): TurnEvent => ({ type: "tool-call", id, name: "t", args });
const start = (id: string): TurnEvent => ({ type: "tool-call-start", id, name: "t" });
const piece = (id: string, of: string): TurnEvent => ({ type: "tool-call-delta", id, json: of });

async function render(...batches: (readonly TurnEvent[])[]): Promise<string> {
  const renderer = (await parse({ stream: true })).stream();
  return batches.map((batch) => renderer.step(batch)).join("");
}

describe("the events", () => {
  it.each<[string, readonly TurnEvent[], readonly { readonly type: string }[]]>([
    ["text", [text('a"\n\u2028'), text("b")], [started, begun(0, TEXT), ping, said(0, 'a"\n\u2028'), said(0, "b")]],
    [
      "thinking, and a signature of ours",
      [thinking("h"), thinking("m"), { type: "thinking-done", durationMs: 1 }, text("a")],
      [
        started,
        begun(0, THINKING),
        ping,
        thought(0, "h"),
        thought(0, "m"),
        signed(0, mintSignature("hm")),
        ended(0),
        begun(1, TEXT),
        said(1, "a"),
      ],
    ],
    [
      "thinking, and the upstream's own signature",
      [thinking("h"), { type: "thinking-done", durationMs: 1, signature: "theirs" }],
      [started, begun(0, THINKING), ping, thought(0, "h"), signed(0, "theirs"), ended(0)],
    ],
    [
      "thinking that nobody ended",
      [thinking("h"), text("a")],
      [
        started,
        begun(0, THINKING),
        ping,
        thought(0, "h"),
        signed(0, mintSignature("h")),
        ended(0),
        begun(1, TEXT),
        said(1, "a"),
      ],
    ],
    ["nothing to show", [usage(), { type: "notice", code: "x", text: "y" }], []],
    [
      "a whole call",
      [text("a"), whole("1", { x: 1 })],
      [started, begun(0, TEXT), ping, said(0, "a"), ended(0), begun(1, used("1")), json(1, '{"x":1}'), ended(1)],
    ],
    [
      "a call that was streamed, not told twice",
      [start("1"), piece("1", '{"x"'), piece("1", ""), piece("1", ":1}"), whole("1", { x: 1 })],
      [started, begun(0, used("1")), ping, json(0, '{"x"'), json(0, ":1}"), ended(0)],
    ],
    [
      "what comes within a call waits for its end",
      [
        start("1"),
        start("2"),
        piece("2", "{"),
        piece("1", "{}"),
        text("a"),
        piece("2", "}"),
        whole("2"),
        whole("1"),
        text("b"),
      ],
      [
        started,
        begun(0, used("1")),
        ping,
        json(0, "{}"),
        ended(0),
        begun(1, used("2")),
        json(1, "{"),
        json(1, "}"),
        ended(1),
        begun(2, TEXT),
        said(2, "a"),
        said(2, "b"),
      ],
    ],
  ])("%s", async (_, events, expected) => {
    expect(await render(events)).toBe(written(...expected));
  });

  it.each<[string, TurnEvent, object]>([
    ["stop", done(), { stop_reason: "end_turn", stop_sequence: null }],
    [
      "a stop sequence",
      { type: "done", reason: "stop", stopSequence: "x" },
      { stop_reason: "stop_sequence", stop_sequence: "x" },
    ],
    ["length", done("length"), { stop_reason: "max_tokens", stop_sequence: null }],
    ["calls", done("tool-calls"), { stop_reason: "tool_use", stop_sequence: null }],
    ["a filter", done("content-filter"), { stop_reason: "refusal", stop_sequence: null }],
  ])("the end: %s", async (_, end, stop) => {
    const figures = {
      input_tokens: 4,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 4,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 1 },
      server_tool_use: null,
    };
    const closing = [
      { type: "message_delta", delta: { ...unstopped, ...stop }, usage: figures },
      { type: "message_stop" },
    ];
    expect(await render([text("a"), usage(), end])).toBe(
      written(started, begun(0, TEXT), ping, said(0, "a"), ended(0), ...closing),
    );
    expect(await render([usage(), end])).toBe(written(started, ...closing));
  });

  it("the end before any of two calls is whole: what waited for them is said all the same", async () => {
    const events = [start("1"), start("2"), piece("2", "{"), text("a"), done("length")];
    const blocks = [begun(0, used("1")), ping, ended(0), begun(1, used("2")), json(1, "{"), ended(1)];
    expect(await render(events)).toContain(written(started, ...blocks, begun(2, TEXT), said(2, "a"), ended(2)));
  });

  it("an error is an event, and a silence a ping", async () => {
    const renderer = (await parse({ stream: true })).stream();
    renderer.step([text("a")]);
    expect(renderer.keepAlive).toBe(written(ping));
    const failed = renderer.fail(new ExcursorError("upstream-unavailable", "It is gone."), "r1");
    expect(failed).toBe(
      written({
        type: "error",
        error: { type: "overloaded_error", message: "It is gone.", details: { error_code: "upstream_unavailable" } },
        request_id: "r1",
      } as { readonly type: string }),
    );
  });

  it("thinking that is to be omitted keeps its block and its signature, and comes back with it", async () => {
    const asked = { thinking: { type: "adaptive", display: "omitted" } };
    const signature = { type: "thinking-done", durationMs: 1, signature: "theirs" } as const;
    const events = [thinking("h"), thinking("m"), signature, thinking("x"), text("a"), done()];
    expect((await parse({ ...asked, stream: true })).stream().step(events)).toContain(
      written(
        begun(0, THINKING),
        ping,
        signed(0, "theirs"),
        ended(0),
        begun(1, THINKING),
        signed(1, mintSignature("")),
      ),
    );
    const collector = (await parse(asked)).collect();
    collector.step(events);
    const { content } = collector.body();
    expect(content).toMatchObject([{ thinking: "", signature: "theirs" }, { thinking: "" }, { text: "a" }]);
    const messages = [
      { role: "assistant", content },
      { role: "user", content: "and?" },
    ];
    expect((await parse({ messages })).turn.messages[0]?.content).toEqual([
      { type: "thinking", text: "", signature: "theirs" },
      { type: "thinking", text: "", signature: undefined },
      { type: "text", text: "a" },
    ]);
    const shown = (await parse({ thinking: { type: "adaptive", display: "summarized" } })).collect();
    shown.step(events);
    expect(shown.body()["content"]).toMatchObject([{ thinking: "hm" }, { thinking: "x" }, { text: "a" }]);
  });

  it("a signature of ours is that of the whole text, in whichever pieces it comes", () => {
    const long = fc.string({ unit: "binary" }).map((piece) => piece.repeat(4000));
    const pieces = fc.array(fc.oneof(long, fc.string({ unit: "binary" }), fc.constantFrom("\ud83d", "\ude00", "a")));
    fc.assert(
      fc.property(pieces, (given) => {
        const mint = new SignatureMint();
        for (const one of given) mint.add(one);
        expect(mint.mint()).toBe(mintSignature(given.join("")));
      }),
    );
    const halves = new SignatureMint();
    for (const one of [`${"a".repeat(20_000)}\ud83d`, "\ude00"]) halves.add(one);
    expect(halves.mint()).toBe(mintSignature(`${"a".repeat(20_000)}\u{1f600}`));
  });

  it("thinking ends before an error", async () => {
    const renderer = (await parse({ stream: true })).stream();
    renderer.step([thinking("hm")]);
    const failed = renderer.fail(new ExcursorError("upstream-unavailable", "It is gone."), "r1");
    expect(failed).toMatch(/"signature_delta".*\n\nevent: content_block_stop\n.*\n\nevent: error\n/);
  });

  it("sealed thinking is a block of its own, streamed or whole, and leaves the one before it alone", async () => {
    const sealed = (signature: string): TurnEvent => ({ type: "thinking-done", durationMs: 0, signature });
    const events = [thinking("hm"), sealed("sig"), sealed("redacted:x=="), sealed("bare"), text("a"), done()];
    const parsed = await parse({ stream: true });
    const collector = parsed.collect();
    collector.step(events);
    expect(collector.body()).toMatchObject({
      content: [
        { type: "thinking", thinking: "hm", signature: "sig" },
        { type: "redacted_thinking", data: "x==" },
        { type: "thinking", thinking: "", signature: "bare" },
        { type: "text", text: "a" },
      ],
    });
    expect(await render(events)).toContain(
      written(begun(1, { type: "redacted_thinking", data: "x==" }), ended(1), begun(2, THINKING)),
    );
  });

  it("whatever a driver does, the order holds, any batching gives the same, and the whole answer is the same", async () => {
    const parsed = await parse({ stream: true });
    fc.assert(
      fc.property(driverEvents, fc.array(fc.nat(30)), (events, at) => {
        const renderer = parsed.stream();
        const stream = cutInto(events, at)
          .map((batch) => renderer.step(batch))
          .join("");
        expect(stream).toBe(parsed.stream().step(events));
        const collector = parsed.collect();
        collector.step(events);
        const whole = anthropicMessages.answer(collector.body());
        expect(anthropicMessages.streamed(stream)).toEqual(JSON.parse(JSON.stringify(whole)));
      }),
      { numRuns: 500 },
    );
  });
});

describe("the errors", () => {
  it("have the type of their kind, a code and, where it is known, a field", () => {
    const { status, headers, body } = errorBody(
      new ExcursorError("requests_per_minute", "Too fast.", { retryAfterMs: 1500, field: "model", hint: null }),
      "r1",
    );
    expect([status, headers]).toEqual([429, { "retry-after": "2", "retry-after-ms": "1500" }]);
    expect(body).toEqual({
      type: "error",
      error: {
        type: "rate_limit_error",
        message: "Too fast.",
        details: { error_code: "requests_per_minute", field: "model" },
      },
      request_id: "r1",
    });
  });
});
