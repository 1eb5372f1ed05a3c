import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { ThinkSplitter } from "../../../src/core/thinking/think-splitter.ts";
import {
  THINKING_STYLES,
  type ThinkingStyle,
  type Thought,
  type Thoughts,
} from "../../../src/core/thinking/thoughts.ts";
import type { AssistantPart } from "../../../src/core/turn.ts";
import { done, text, thinking } from "../../core/support/turns.ts";
import { aFace, aRequest, context } from "./support/requests.ts";
import { readSse } from "./support/sse.ts";

/** Thoughts in memory. */
function someThoughts(): Thoughts & { readonly kept: Map<string, Thought> } {
  const kept = new Map<string, Thought>();
  return {
    kept,
    keep: (principalId, id, thought) => kept.set(`${principalId} ${id}`, thought),
    find: (principalId, id) => kept.get(`${principalId} ${id}`),
    findByText: (_, wanted) => [...kept.values()].find((thought) => thought.text === wanted),
  };
}

interface Written {
  content: string;
  reasoning_content: string;
  reasoning: string;
}

async function write(
  style: ThinkingStyle,
  thoughts: Thoughts,
  batches: readonly (readonly TurnEvent[])[],
  stream = true,
) {
  const parsed = await aFace({ thinking: style, thoughts }).parse(aRequest({ stream }), context);
  if (!stream) {
    const collector = parsed.collect();
    for (const batch of batches) collector.step(batch);
    // biome-ignore lint/suspicious/noExplicitAny: as a client reads it
    const { content, reasoning_content, reasoning } = (collector.body() as any).choices[0].message;
    return { content: content ?? "", reasoning_content: reasoning_content ?? "", reasoning: reasoning ?? "" };
  }
  const renderer = parsed.stream();
  return read(batches.map((batch) => renderer.step(batch)).join(""));
}

function read(sse: string): Written {
  const said: Written = { content: "", reasoning_content: "", reasoning: "" };
  for (const line of readSse(sse)) {
    if (line === "[DONE]") continue;
    const delta = JSON.parse(line).choices?.[0]?.delta ?? {};
    for (const field of Object.keys(said) as (keyof Written)[]) said[field] += delta[field] ?? "";
  }
  return said;
}

async function bringBack(style: ThinkingStyle, thoughts: Thoughts, message: object): Promise<readonly AssistantPart[]> {
  const messages = [
    { role: "user", content: "<think>mine</think>" },
    { role: "assistant", ...message },
    { role: "user", content: "and?" },
  ];
  const { turn } = await aFace({ thinking: style, thoughts }).parse(aRequest({ messages }), context);
  expect(turn.messages[0]?.content).toEqual([{ type: "text", text: "<think>mine</think>" }]);
  return turn.messages[1]?.content as readonly AssistantPart[];
}

const thought = (signature?: string): TurnEvent => ({
  type: "thinking-done",
  durationMs: 7,
  ...(signature && { signature }),
});
const ANSWER = [thinking("I "), thinking("see"), thought("sig"), text("Hello"), done()];

describe("how thinking is written", () => {
  it.each<[ThinkingStyle, object]>([
    ["fields", { content: "Hello", reasoning_content: "I see", reasoning: "I see" }],
    ["none", { content: "Hello", reasoning_content: "", reasoning: "" }],
    [
      "tags",
      {
        content: expect.stringMatching(/^<think>\nI see\n<\/think>\n```plaintext:thinkId:[0-9a-f]{24}```\nHello$/),
        reasoning: "",
        reasoning_content: "",
      },
    ],
    [
      "tags-nonce",
      {
        content: expect.stringMatching(
          /^<!--thinking-start:([0-9a-f]{8})-->\nI see\n<!--thinking-end:\1-->\n<!--thinkId:[0-9a-f]{24}-->\nHello$/,
        ),
        reasoning: "",
        reasoning_content: "",
      },
    ],
  ])("%s", async (style, expected) => {
    expect(await write(style, someThoughts(), [ANSWER])).toEqual(expected);
    expect(await write(style, someThoughts(), [ANSWER], false)).toEqual(expected);
  });

  it("not in the way of JSON", async () => {
    const body = aRequest({ stream: true, response_format: { type: "json_object" } });
    const renderer = (await aFace({ thinking: "tags" }).parse(body, context)).stream();
    expect(read(renderer.step([thinking("hm"), thought(), text("{}"), done()]))).toMatchObject({
      content: "{}",
      reasoning: "hm",
    });
  });

  it("each piece is a delta of its own, the tags too", async () => {
    const renderer = (await aFace({ thinking: "tags" }).parse(aRequest({ stream: true }), context)).stream();
    const deltas = readSse(renderer.step(ANSWER))
      .slice(1, 6)
      .map((line) => JSON.parse(line).choices[0].delta);
    expect(deltas).toEqual([
      { content: "<think>\n" },
      { content: "I " },
      { content: "see" },
      { content: expect.stringMatching(/^\n<\/think>\n```plaintext:thinkId:\w+```\n$/) },
      { content: "Hello" },
    ]);
  });

  it.each<[string, readonly TurnEvent[]]>([
    ["text", [text("a")]],
    ["a call", [{ type: "tool-call-start", id: "c", name: "t" }]],
    ["the end", [done()]],
  ])("a block that nobody ended is ended by %s", async (_, events) => {
    const { content } = await write("tags", someThoughts(), [[thinking("hm"), ...events]]);
    expect(content).toMatch(/^<think>\nhm\n<\/think>\n```plaintext:thinkId:\w+```\n/);
  });

  it.each(["tags", "tags-nonce"] as const)("a block after text begins a line, and comes back: %s", async (style) => {
    const events = [text("So"), text(""), thinking("I see"), thought("sig"), text("a\n"), thinking("b"), thought("c")];
    const thoughts = someThoughts();
    const { content } = await write(style, thoughts, [[...events, done()]]);
    expect(content).toMatch(/^So\n<.*(```|-->)\na\n<.*(```|-->)\n$/s);
    expect(split(content)).toEqual({ thinking: ["I see", "b"], text: "So\na\n" });
    expect(await write(style, someThoughts(), [[...events, done()]], false)).toMatchObject({
      content: expect.stringMatching(/^So\n</),
    });
    expect(await bringBack(style, thoughts, { content })).toEqual([
      { type: "text", text: "So\n" },
      { type: "thinking", text: "I see", signature: "sig" },
      { type: "text", text: "a\n" },
      { type: "thinking", text: "b", signature: "c" },
    ]);
  });

  it.each(["tags", "tags-nonce"] as const)(
    "a failure in the middle closes the block before it is told: %s",
    async (thinkingStyle) => {
      const renderer = (await aFace({ thinking: thinkingStyle }).parse(aRequest({ stream: true }), context)).stream();
      const lines = readSse(
        renderer.step([thinking("hm")]) + renderer.fail(new ExcursorError("upstream-failed", "It broke."), "r1"),
      );
      const said = read(lines.map((line) => `data: ${line}\n\n`).join("")).content;
      expect(split(said)).toEqual({ thinking: ["hm"], text: "" });
      expect(said).toMatch(/thinkId:\w+(```|-->)\n$/);
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ error: { message: "It broke." } });
    },
  );

  it.each<[string, object, string | undefined, RegExp]>([
    ["Cursor, by its name", {}, "Cursor/3.2.0", /^<think>/],
    [
      "Cursor, by its tools",
      { tools: [{ type: "custom", name: "ApplyPatch", format: { type: "grammar", definition: "x" } }] },
      "Go-http-client/2.0",
      /^<think>/,
    ],
    ["Cursor, by a tool without a frame", { tools: [{ type: "function", name: "f" }] }, undefined, /^<think>/],
    ["Cursor, by a tool of Anthropic's", { tools: [{ name: "f", input_schema: {} }] }, undefined, /^<think>/],
    ["anybody else", {}, "OpenAI/JS 7.53.0", /^Hello/],
    ["one with tools", { tools: [{ type: "function", function: { name: "f" } }] }, undefined, /^Hello/],
    ["one that says nothing", {}, undefined, /^Hello/],
  ])("is chosen by who asks: %s", async (_, body, userAgent, expected) => {
    const renderer = (
      await aFace().parse(aRequest({ stream: true, ...body }), { ...context, header: () => userAgent })
    ).stream();
    expect(read(renderer.step(ANSWER)).content).toMatch(expected);
  });

  it("what is too long to be kept is shown, and not kept", async () => {
    const thoughts = someThoughts();
    const long = thinking("x".repeat(64 * 1024));
    const { content } = await write("tags", thoughts, [Array(17).fill(long), [thought("sig"), text("a"), done()]]);
    expect(split(content)).toEqual({ thinking: ["x".repeat(17 * 64 * 1024)], text: "a" });
    expect(thoughts.kept.size).toBe(0);
    expect(await bringBack("tags", thoughts, { content })).toEqual([{ type: "text", text: "a" }]);
  });
});

/** As the IDE sees it. */
function split(content: string, cut = content.length): { thinking: string[]; text: string } {
  const splitter = new ThinkSplitter();
  const seen: { thinking: string[]; text: string } = { thinking: [], text: "" };
  let block = "";
  for (const part of [
    ...splitter.push(content.slice(0, cut)),
    ...splitter.push(content.slice(cut)),
    ...splitter.end(),
  ]) {
    if (part.type === "thinking") block += part.text;
    if (part.type === "thinking-done") {
      seen.thinking.push(block);
      block = "";
    }
    if (part.type === "text") seen.text += part.text;
  }
  return seen;
}

describe("whatever is thought and said, at any cut", () => {
  // What a model may say that looks like a tag, and isn't; only between plain tags it may not think everything.
  const harmless = fc.array(
    fc.constantFrom("a", "b\n", " <", "<<<", "<thin", "x<think>", "\n```\n<think>\n```\n", "é☕"),
    { minLength: 1, maxLength: 8 },
  );
  const anything = fc.array(
    fc.constantFrom(
      "a",
      "\nb",
      "</think>",
      "\n</think>\n",
      "<think>",
      "```plaintext:thinkId:x```",
      "<!--thinking-end:00000000-->",
      "<",
    ),
    { minLength: 1, maxLength: 8 },
  );

  const cases: [ThinkingStyle, fc.Arbitrary<string[]>][] = [
    ["fields", anything],
    ["none", anything],
    ["tags", harmless],
    ["tags-nonce", anything],
  ];
  it.each(cases)("%s: the same is read, and comes back as it was", async (style, pieces) => {
    await fc.assert(
      fc.asyncProperty(
        pieces,
        harmless,
        fc.array(fc.boolean()),
        fc.nat(),
        async (thoughtPieces, textPieces, cuts, cut) => {
          const said = `Well ${textPieces.join("")}`;
          const events = [
            ...thoughtPieces.map(thinking),
            thought("sig"),
            text("Well "),
            ...textPieces.map(text),
            done(),
          ];
          const batches: TurnEvent[][] = [[]];
          for (const [index, event] of events.entries()) {
            if (cuts[index]) batches.push([]);
            batches.at(-1)?.push(event);
          }
          const thoughts = someThoughts();
          const written = await write(style, thoughts, batches);
          const whole = thoughtPieces.join("");
          const isTagged = style === "tags" || style === "tags-nonce";
          if (isTagged) {
            // What the text itself says between tags is another matter.
            if (style === "tags") expect(split(written.content, cut % (written.content.length + 1)).text).toBe(said);
            expect(split(written.content).thinking[0]).toBe(whole);
          } else {
            expect(written).toEqual({
              content: said,
              reasoning_content: style === "none" ? "" : whole,
              reasoning: style === "none" ? "" : whole,
            });
          }
          const parts = await bringBack(style, thoughts, written);
          const expected = { type: "thinking", text: whole, signature: "sig" };
          expect(parts[0]).toEqual(style === "none" ? { type: "text", text: said } : expected);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe("what comes back", () => {
  const set = async (style: ThinkingStyle = "tags") => {
    const thoughts = someThoughts();
    const { content } = await write(style, thoughts, [ANSWER]);
    return { thoughts, content, back: (message: object) => bringBack(style, thoughts, message) };
  };
  const ORIGINAL = { type: "thinking", text: "I see", signature: "sig" };
  const HELLO = { type: "text", text: "Hello" };

  it.each<[string, (content: string) => string]>([
    ["as it was", (content) => content],
    ["edited", (content) => content.replace("I see", "I saw something else")],
    ["emptied", (content) => content.replace("I see\n", "")],
    ["truncated in front", (content) => content.slice(10)],
    ["without its opener", (content) => content.replace(/^.*\n/, "")],
    ["without its block", (content) => content.slice(content.search(/```plaintext|<!--thinkId/))],
    ["ended by what it says itself", (content) => content.replace("I see", "I </think> see")],
    ["without its closer", (content) => content.replace(/\n<(\/think|!--thinking-end:\w+--)>/, "")],
    ["with other line breaks", (content) => content.replaceAll("\n", "\n\n")],
  ])("%s: the original, with its signature, in its place", async (_, change) => {
    for (const style of ["tags", "tags-nonce"] as const) {
      const { content, back } = await set(style);
      expect(await back({ content: change(content) })).toEqual([ORIGINAL, HELLO]);
    }
  });

  it.each<[string, (content: string) => string, readonly object[]]>([
    [
      "an id that nobody knows",
      (content) => content.replace(/thinkId:\w+/, "thinkId:unknown").replace("see", "edit"),
      [HELLO],
    ],
    ["cut off in the block", (content) => content.slice(0, 12), []],
    ["the block is not closed", () => "<think>\nwho knows\nHello", []],
    ["not closed, and of an id that nobody knows", () => "<think>\nhm\n```plaintext:thinkId:x```\nHello", [HELLO]],
    ["not closed, but known", (content) => content.slice(0, content.indexOf("see") + 3), [ORIGINAL]],
    ["within a line", (content) => `So. ${content}`, [{ type: "text", text: "So. " }, ORIGINAL, HELLO]],
    ["the marker is gone, the text is known", (content) => content.replace(/```.*```\n/, ""), [ORIGINAL, HELLO]],
    ["the marker is gone, the text is not", () => "<think>\nmade up\n</think>\n\nHello", [HELLO]],
    [
      "two blocks",
      (content) => `${content}\n${content}`,
      [ORIGINAL, { type: "text", text: "Hello\n" }, ORIGINAL, HELLO],
    ],
    [
      "code that shows tags",
      () => "Hello\n```html\n<think>\nno\n</think>\n```",
      [{ type: "text", text: "Hello\n```html\n<think>\nno\n</think>\n```" }],
    ],
  ])("%s", async (_, change, expected) => {
    const { content, back } = await set();
    expect(await back({ content: change(content) })).toEqual(expected);
  });

  it("calls stand behind it", async () => {
    const { content, back } = await set();
    const tool_calls = [{ id: "c", type: "function", function: { name: "t", arguments: "{}" } }];
    const call = { type: "tool-call", id: "c", name: "t", args: {} };
    expect(await back({ content, tool_calls })).toEqual([ORIGINAL, HELLO, call]);
  });

  it("nothing of another principal's", async () => {
    const { content, thoughts } = await set();
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", content },
      { role: "user", content: "y" },
    ];
    const other = { ...context, principal: { id: "other", token: undefined } };
    const face = aFace({ thinking: "tags", thoughts: { ...thoughts, findByText: () => undefined } });
    const { turn } = await face.parse(aRequest({ messages }), other);
    expect(turn.messages[1]?.content).toEqual([HELLO]);
  });

  it("fields: the original if it is known, else what the client says", async () => {
    const thoughts = someThoughts();
    await write("fields", thoughts, [ANSWER]);
    const back = (message: object) => bringBack("fields", thoughts, message);
    expect(await back({ content: "Hello", reasoning: "I see" })).toEqual([ORIGINAL, HELLO]);
    expect(await back({ content: "Hello", reasoning_content: "made up" })).toEqual([
      { type: "thinking", text: "made up", signature: undefined },
      HELLO,
    ]);
    expect(await back({ content: "<think>said by a local model</think>" })).toEqual([
      { type: "text", text: "<think>said by a local model</think>" },
    ]);
  });

  it("blocks of another style, in a conversation that has changed its style", async () => {
    const { content, thoughts } = await set("tags");
    expect(await bringBack("fields", thoughts, { content })).toEqual([ORIGINAL, HELLO]);
  });

  it("sealed thinking, which has no text", async () => {
    const thoughts = someThoughts();
    const { content } = await write("tags", thoughts, [[thought("sealed"), text("Hello"), done()]]);
    expect(await bringBack("tags", thoughts, { content })).toEqual([
      { type: "thinking", text: "", signature: "sealed" },
      HELLO,
    ]);
  });
});

it("every style has a name that a path can hold", () => {
  for (const style of THINKING_STYLES) expect(style).toMatch(/^[a-z-]+$/);
});
