import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../../src/core/events.ts";
import { done } from "../../../core/support/turns.ts";
import { aRequest, parse, refusal } from "../support/requests.ts";
import { readSse } from "../support/sse.ts";

const schema = { type: "object", properties: { at: { type: "string" } } };
const PATCH = {
  type: "custom",
  name: "ApplyPatch",
  description: "d",
  format: { type: "grammar", syntax: "lark", definition: "start: x" },
};

describe("tools in other frames", () => {
  it.each<[string, object, object]>([
    [
      "without a frame",
      { type: "function", name: "t", description: "d", parameters: schema },
      { name: "t", description: "d", schema },
    ],
    ["in Anthropic's", { name: "t", description: "d", input_schema: schema }, { name: "t", description: "d", schema }],
    [
      "in Anthropic's newer one",
      { type: "custom", name: "t", input_schema: schema },
      { name: "t", description: "", schema },
    ],
    [
      "in their own",
      { type: "function", function: { name: "t", parameters: schema } },
      { name: "t", description: "", schema },
    ],
  ])("%s", async (_, tool, expected) => {
    expect((await parse({ tools: [tool] })).turn.tools).toMatchObject([expected]);
  });

  it.each([
    PATCH,
    {
      type: "custom",
      custom: { name: "ApplyPatch", description: "d", format: { type: "grammar", grammar: PATCH.format } },
    },
  ])("free text is one argument, and the grammar is told: %#", async (tool) => {
    const [offered] = (await parse({ tools: [tool] })).turn.tools;
    expect(offered).toMatchObject({ name: "ApplyPatch", schema: { required: ["input"] } });
    expect(JSON.stringify(offered)).toContain("lark grammar:\\nstart: x");
  });

  it.each<[unknown, object]>([
    [{ type: "auto" }, { type: "auto" }],
    [{ type: "any" }, { type: "required" }],
    [{ type: "none" }, { type: "none" }],
    [
      { type: "tool", name: "t" },
      { type: "tool", name: "t" },
    ],
    [
      { type: "function", name: "t" },
      { type: "tool", name: "t" },
    ],
  ])("chosen by %j", async (tool_choice, expected) => {
    const { turn } = await parse({ tools: [{ name: "t", input_schema: schema }], tool_choice });
    expect(turn.toolChoice).toEqual(expected);
  });

  const call: TurnEvent[] = [
    { type: "tool-call-start", id: "c", name: "ApplyPatch" },
    { type: "tool-call-delta", id: "c", json: '{"input":"*** Be' },
    { type: "tool-call-delta", id: "c", json: 'gin"}' },
    { type: "tool-call", id: "c", name: "ApplyPatch", args: { input: "*** Begin" } },
    done("tool-calls"),
  ];
  const told = { id: "c", type: "custom", custom: { name: "ApplyPatch", input: "*** Begin" } };

  it("their calls bring free text, streamed and whole", async () => {
    const parsed = await parse({ tools: [PATCH], stream: true });
    const chunks = readSse(parsed.stream().step(call))
      .slice(0, -1)
      .map((line) => JSON.parse(line).choices[0]);
    expect(chunks.flatMap(({ delta }) => delta.tool_calls ?? [])).toEqual([{ index: 0, ...told }]);
    expect(chunks.at(-1).finish_reason).toBe("tool_calls");
    const collector = parsed.collect();
    collector.step(call);
    expect(collector.body()).toMatchObject({ choices: [{ message: { content: null, tool_calls: [told] } }] });
  });

  it("and come back as they were", async () => {
    const messages = [
      { role: "user", content: "patch" },
      { role: "assistant", content: [], tool_calls: [told] },
      { role: "tool", tool_call_id: "c", content: "ok" },
    ];
    const { turn } = await parse({ messages, tools: [PATCH] });
    expect(turn.messages[1]?.content).toEqual([
      { type: "tool-call", id: "c", name: "ApplyPatch", args: { input: "*** Begin" } },
    ]);
  });
});

describe("messages with blocks of other dialects", () => {
  it("content that is an empty list is no content", async () => {
    const messages = [
      { role: "user", content: [] },
      {
        role: "assistant",
        content: [],
        tool_calls: [{ id: "c", type: "function", function: { name: "t", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: [] },
    ];
    const { turn } = await parse({ messages });
    expect(turn.messages.map(({ role, content }) => [role, content.map(({ type }) => type)])).toEqual([
      ["user", []],
      ["assistant", ["tool-call"]],
      ["tool", []],
    ]);
  });

  it("calls, results, thinking and images of Anthropic's", async () => {
    const source = { type: "base64", media_type: "image/png", data: "cG5n" };
    const messages = [
      {
        role: "user",
        content: [
          { type: "text", text: "look", cache_control: { type: "ephemeral" } },
          { type: "image", source },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "sig" },
          { type: "text", text: "I do." },
          { type: "tool_use", id: "toolu_1", name: "t", input: { at: "x" } },
          { type: "tool_use", id: "toolu_2", name: "t", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: [
              { type: "text", text: "seen" },
              { type: "image", source },
            ],
          },
          { type: "tool_result", tool_use_id: "toolu_2", content: "no", is_error: true },
          { type: "text", text: "go on" },
        ],
      },
    ];
    const { turn } = await parse({ messages });
    const image = { type: "image", mediaType: "image/png", data: Buffer.from("data:image/png;base64,cG5n") };
    expect(turn.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "look" }, image] },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "hm", signature: "sig" },
          { type: "text", text: "I do." },
          { type: "tool-call", id: "toolu_1", name: "t", args: { at: "x" } },
          { type: "tool-call", id: "toolu_2", name: "t", args: {} },
        ],
      },
      { role: "tool", callId: "toolu_1", content: [{ type: "text", text: "seen" }, image], isError: false },
      { role: "tool", callId: "toolu_2", content: [{ type: "text", text: "no" }], isError: true },
      { role: "user", content: [{ type: "text", text: "go on" }] },
    ]);
  });

  it.each<[string, unknown, string]>([
    ["a text", "Be brief.", "Be brief."],
    ["blocks", [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }], "Be brief."],
    ["nothing", "", ""],
    ["neither", null, ""],
  ])("instructions beside the messages: %s", async (_, system, expected) => {
    const { turn } = await parse({ system, messages: [{ role: "user", content: "hi" }] });
    expect(turn).toMatchObject({ system: expected, messages: [{ role: "user" }] });
  });

  it("a body of Responses, sent to the wrong place", async () => {
    const { turn } = await parse({
      messages: undefined,
      instructions: "Be brief.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "hi" }] },
        { type: "reasoning", summary: [] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
        { type: "function_call", call_id: "c1", name: "t", arguments: '{"at":1}' },
        { type: "custom_tool_call", call_id: "c2", name: "ApplyPatch", input: "***" },
        { type: "function_call_output", call_id: "c1", output: "seen" },
        { type: "custom_tool_call_output", call_id: "c2", output: "done" },
      ],
      tools: [{ type: "function", name: "t", parameters: schema }, PATCH],
      max_output_tokens: 9,
      reasoning: { effort: "high" },
    });
    expect(turn).toMatchObject({ system: "Be brief.", maxOutputTokens: 9, model: { effort: "high" } });
    expect(turn.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool-call", id: "c1", name: "t", args: { at: 1 } },
          { type: "tool-call", id: "c2", name: "ApplyPatch", args: { input: "***" } },
        ],
      },
      { role: "tool", callId: "c1", content: [{ type: "text", text: "seen" }], isError: false },
      { role: "tool", callId: "c2", content: [{ type: "text", text: "done" }], isError: false },
    ]);
    expect((await parse({ messages: undefined, input: "hi" })).turn.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
    ]);
  });

  it.each<[string, object, string]>([
    [
      "a result that names no call",
      { messages: [{ role: "user", content: [{ type: "tool_result", content: "x" }] }] },
      "messages[0].tool_call_id",
    ],
    [
      "a result of no call",
      { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "z", content: "x" }] }] },
      "messages[0].tool_call_id",
    ],
    [
      "a block that nobody knows",
      { messages: [{ role: "user", content: [{ type: "hologram" }] }] },
      "messages[0].content[0].type",
    ],
    ["a tool without a name", { tools: [{ type: "function", description: "d" }] }, "tools[0].function"],
    ["a tool that is no object", { tools: [7] }, "tools[0]"],
    ["an input that is none", { messages: undefined, input: 7 }, "messages[0].content"],
  ])("what is wrong stays wrong: %s", async (_, over, field) => {
    expect(await refusal(aRequest(over))).toMatchObject({ kind: "invalid-request", field });
  });

  it.each(["claude-sonnet-5", "my-claude-3", "cc/claude-opus"])(
    "the name %s means nothing in particular",
    async (model) => {
      expect((await parse({ model })).turn.model.id).toBe(model);
    },
  );
});

describe("values that cannot be made a text (FUZ-05)", () => {
  const untold = { toString: 1 };
  const user = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });

  it.each<[string, object, string]>([
    ["the type of a part", user({ type: untold }), "messages[0].content[0].type"],
    ["the type of an item", { messages: undefined, input: [{ type: untold }] }, "messages[0].role"],
    ["the name of a custom tool", { tools: [{ type: "custom", name: untold }] }, "tools[0].function.name"],
    ["the type of a choice", { tool_choice: { type: untold } }, "tool_choice.type"],
    [
      "the data of an image",
      user({ type: "image", source: { type: "base64", media_type: untold, data: untold } }),
      "messages[0].content[0].type",
    ],
  ])("%s", async (_, over, field) => {
    expect((await refusal(aRequest(over))).field).toBe(field);
  });

  it("the grammar of a custom tool is left out", async () => {
    const format = { type: "grammar", syntax: untold, definition: untold };
    const { turn } = await parse({ tools: [{ ...PATCH, format }] });
    expect(JSON.stringify(turn.tools)).not.toContain("grammar");
  });

  it("an item without content and calls, after an answer, is refused by its place", async () => {
    const input = [
      { type: "function_call", call_id: "1", name: "t", arguments: "{}" },
      { role: "assistant", content: null },
    ];
    expect((await refusal(aRequest({ messages: undefined, input }))).kind).toBe("invalid-request");
  });
});
