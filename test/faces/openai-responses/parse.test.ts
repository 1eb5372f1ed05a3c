import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/core/turn.ts";
import { context, parse, refusal, seal } from "./support/requests.ts";

const text = (value: string) => ({ type: "text", text: value }) as const;
const user = (value: string) => ({ role: "user", content: [text(value)] });
const image = (url: string) => ({ type: "image", mediaType: "image/png", data: Buffer.from(url) });
const ask = { role: "user", content: "go" };
const functionTool = (name: string) => ({ type: "function", name, parameters: { type: "object" }, strict: true });
const call = (id: string, more: object = {}) => ({
  type: "function_call",
  call_id: id,
  name: "t",
  arguments: '{"a":1}',
  ...more,
});
const output = (id: string, value: unknown = "ok") => ({ type: "function_call_output", call_id: id, output: value });
const result = (callId: string, value: string) => ({ role: "tool", callId, content: [text(value)], isError: false });
const turnOf = async (over: object) => (await parse(over)).turn;

describe("a plain request", () => {
  it("is a turn, with everything else left open", async () => {
    const { turn, isStream, ignored } = await parse();
    expect(turn).toEqual({
      principal: context.principal,
      model: { id: "m", effort: undefined },
      system: "",
      messages: [{ role: "user", content: [text("hi")] }],
      tools: [],
      toolChoice: { type: "auto" },
      allowsParallelCalls: true,
      stop: [],
      maxOutputTokens: undefined,
      output: { type: "text" },
    } satisfies Turn);
    expect(isStream).toBe(false);
    expect(ignored).toEqual([]);
  });

  it("may say null where it could say nothing, and what nobody knows", async () => {
    const fields = [
      "instructions",
      "previous_response_id",
      "store",
      "stream",
      "tools",
      "tool_choice",
      "text",
      "prompt",
    ];
    const more = ["reasoning", "include", "metadata", "temperature", "background", "conversation", "max_output_tokens"];
    const nulls = Object.fromEntries([...fields, ...more].map((field) => [field, null]));
    const unknown = {
      client_metadata: { a: "b" },
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
      service_tier: "auto",
      stream_options: { include_obfuscation: false },
      access_programs: {},
      never_heard_of: [1],
    };
    const { turn, ignored } = await parse({ ...nulls, ...unknown, text: {}, include: [], reasoning: { context: "x" } });
    expect(turn).toEqual((await parse()).turn);
    expect(ignored).toEqual([]);
  });

  it("brings what else there is to say", async () => {
    const schema = { type: "object", properties: {} };
    const turn = await turnOf({
      instructions: "Be brief.",
      input: [
        { role: "system", content: "Be kind." },
        {
          role: "developer",
          content: [
            { type: "input_text", text: "!" },
            { type: "input_text", text: "?" },
          ],
        },
        ask,
      ],
      reasoning: { effort: "xhigh", summary: "auto" },
      max_output_tokens: 7,
      parallel_tool_calls: false,
      text: { format: { type: "json_schema", name: "n", schema, strict: true }, verbosity: "low" },
    });
    expect(turn).toMatchObject({
      system: "Be brief.\n\nBe kind.\n\n!\n?",
      messages: [user("go")],
      model: { effort: "xhigh" },
      maxOutputTokens: 7,
      allowsParallelCalls: false,
      output: { type: "json-schema", name: "n", schema, field: "text.format.schema" },
    });
    expect((await turnOf({ text: { format: { type: "json_object" } } })).output).toEqual({ type: "json" });
  });

  it("lists what it cannot honour", async () => {
    const { ignored, turn } = await parse({
      temperature: 1,
      top_p: 0.5,
      truncation: "auto",
      max_tool_calls: 3,
      tool_choice: "required",
      parallel_tool_calls: false,
      text: { verbosity: "low" },
      reasoning: { summary: "detailed" },
      include: ["reasoning.encrypted_content", "web_search_call.results"],
      tools: [functionTool("t"), { type: "web_search" }, { type: "local_shell" }, { type: "tool_of_tomorrow" }],
      input: [{ type: "web_search_call", id: "ws_1" }, { type: "web_search_call", id: "ws_2" }, ask],
    });
    expect(turn.sampling).toEqual({ temperature: 1, top_p: 0.5 });
    expect(ignored).toEqual([
      "max_tool_calls",
      "truncation",
      "text.verbosity",
      "reasoning.summary",
      "tools.strict",
      "include.web_search_call.results",
      "input.web_search_call",
      "tools.web_search",
      "tools.local_shell",
      "tools.tool_of_tomorrow",
    ]);
  });
});

describe("the items", () => {
  it.each<[string, readonly object[], readonly unknown[]]>([
    ["a message with and without its type", [{ type: "message", ...ask }, ask], [user("go"), user("go")]],
    [
      "images and files",
      [
        {
          role: "user",
          content: [
            { type: "input_text", text: "" },
            { type: "input_text", text: "seen" },
            { type: "input_image", image_url: "u", detail: "high" },
            { type: "input_text", text: "describe" },
            { type: "input_file", filename: "a.txt", file_data: "data:text/plain,hello" },
            { type: "input_file", file_data: "data:image/png;base64,AA" },
          ],
        },
      ],
      [
        {
          role: "user",
          content: [
            text("seen\n"),
            image("u"),
            text("describe"),
            { type: "file", name: "a.txt", text: "hello" },
            image("data:image/png;base64,AA"),
          ],
        },
      ],
    ],
    [
      "what the model said in a row, as one message",
      [
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "h" }], encrypted_content: "foreign" },
        {
          type: "message",
          role: "assistant",
          id: "msg_1",
          status: "completed",
          content: [{ type: "output_text", text: "a", annotations: [] }],
        },
        { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
        call("1", { id: "fc_1", status: "completed" }),
        { type: "custom_tool_call", call_id: "2", name: "c", input: "raw\n" },
        output("2", [
          { type: "input_text", text: "b" },
          { type: "input_image", image_url: "u" },
        ]),
        output("1"),
      ],
      [
        {
          role: "assistant",
          content: [
            { type: "thinking", text: "h", signature: undefined },
            text("a"),
            text("no"),
            { type: "tool-call", id: "1", name: "t", args: { a: 1 } },
            { type: "tool-call", id: "2", name: "c", args: { input: "raw\n" } },
          ],
        },
        { role: "tool", callId: "2", content: [text("b"), image("u")], isError: false },
        result("1", "ok"),
      ],
    ],
    [
      "two answers with results between them, as two",
      [
        call("1"),
        output("1"),
        call("2", { arguments: "not json" }),
        { type: "custom_tool_call_output", call_id: "2", output: "" },
      ],
      [
        { role: "assistant", content: [{ type: "tool-call", id: "1", name: "t", args: { a: 1 } }] },
        result("1", "ok"),
        {
          role: "assistant",
          content: [{ type: "tool-call", id: "2", name: "t", args: { invalid_arguments: "not json" } }],
        },
        { role: "tool", callId: "2", content: [], isError: false },
      ],
    ],
    [
      "what hosted tools left behind, and thoughts without words: not at all",
      [
        { type: "web_search_call", id: "ws" },
        { type: "reasoning", summary: [] },
        { type: "compaction", encrypted_content: "x" },
        ask,
      ],
      [{ role: "assistant", content: [] }, user("go")],
    ],
    ...[[], ["one"], ["one", "two"], ["one\n\ntwo", "three", "four"]].map((parts): [string, object[], object[]] => [
      `a reasoning summary of ${parts.length} parts, which stay apart`,
      [{ type: "reasoning", summary: parts.map((part) => ({ type: "summary_text", text: part })) }, ask],
      [
        {
          role: "assistant",
          content: parts.length === 0 ? [] : [{ type: "thinking", text: parts.join("\n\n"), signature: undefined }],
        },
        user("go"),
      ],
    ]),
  ])("are read: %s", async (_, input, messages) => {
    expect((await turnOf({ input })).messages).toEqual(messages);
  });

  it("thoughts that were sealed come back whole, for whom they were sealed", async () => {
    const thought = { text: "the whole of it", signature: "sig" };
    const input = (sealed: string) => [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "short" }], encrypted_content: sealed },
      ask,
    ];
    const thinking = async (sealed: string) => (await turnOf({ input: input(sealed) })).messages[0]?.content[0];
    expect(await thinking(seal.seal(thought, "p"))).toEqual({ type: "thinking", ...thought });
    const short = { type: "thinking", text: "short", signature: undefined };
    const sealed = seal.seal(thought, "p");
    for (const foreign of [seal.seal(thought, "q"), `${sealed.slice(0, -2)}AA`, sealed.slice(0, 30), "gAAAAABo", ""]) {
      expect(await thinking(foreign)).toEqual(short);
    }
    expect(sealed).not.toContain(Buffer.from("whole").toString("base64url"));
  });

  it("a custom tool may say more than once what it did: Codex lets scripts report as they go", async () => {
    const said = (value: unknown) => ({ type: "custom_tool_call_output", call_id: "1", output: value });
    const custom = { type: "custom_tool_call", call_id: "1", name: "c", input: "x" };
    const input = [custom, said("a"), said([{ type: "input_text", text: "b" }]), ask, said("c")];
    expect((await turnOf({ input })).messages.slice(1)).toEqual([
      { role: "tool", callId: "1", content: [text("a"), text("b"), text("c")], isError: false },
      user("go"),
    ]);
  });

  it("where only instructions are given, the last one is the question", async () => {
    expect(
      await turnOf({
        input: [
          { role: "system", content: "a" },
          { role: "developer", content: "b" },
        ],
      }),
    ).toMatchObject({
      system: "a",
      messages: [user("b")],
    });
    const after = [ask, { role: "assistant", content: "x" }, { role: "system", content: "b" }];
    expect((await turnOf({ input: after })).messages.at(-1)).toEqual(user("b"));
    const asked = [call("1"), output("1"), { role: "system", content: "b" }];
    expect(await turnOf({ input: asked })).toMatchObject({ system: "b", messages: [{}, result("1", "ok")] });
  });
});

describe("the tools", () => {
  const namespace = (name: string, ...tools: object[]) => ({ type: "namespace", name, description: "", tools });

  it("are offered flat, with a schema, wherever they come from", async () => {
    const { tools } = await turnOf({
      tools: [
        {
          ...functionTool("f"),
          description: "d",
          parameters: { type: "object", properties: { x: {} } },
          defer_loading: true,
        },
        {
          type: "custom",
          name: "c",
          description: "d",
          format: { type: "grammar", syntax: "lark", definition: "start: x" },
        },
        namespace("n", functionTool("g"), { type: "computer" }),
        { type: "tool_search", execution: "client", parameters: { type: "object" } },
        { type: "tool_search" },
      ],
      input: [
        { type: "additional_tools", role: "developer", tools: [namespace("m", { type: "custom", name: "h" })] },
        ask,
      ],
    });
    expect(tools.map(({ name }) => name)).toEqual(["f", "c", "g", "tool_search", "h"]);
    expect(tools[0]).toEqual({
      name: "f",
      field: "tools[0].parameters",
      description: "d",
      schema: { type: "object", properties: { x: {} } },
    });
    expect(tools[1]?.schema).toEqual({
      type: "object",
      properties: { input: { type: "string", description: expect.stringContaining("lark grammar:\nstart: x") } },
      required: ["input"],
    });
  });

  it("of one name in two namespaces are told apart, in calls of the past as well", async () => {
    const { tools, messages } = await turnOf({
      tools: [functionTool("t"), namespace("a", functionTool("t")), namespace("b", functionTool("u"))],
      input: [call("1", { namespace: "a" }), call("2"), call("3", { namespace: "b", name: "u" }), output("1")],
    });
    expect(tools.map(({ name }) => name)).toEqual(["t", "a__t", "u"]);
    const calls = messages[0]?.role === "assistant" ? messages[0].content : [];
    expect(calls.map((part) => part.type === "tool-call" && part.name)).toEqual(["a__t", "t", "u"]);
  });

  it("that a search found can be called from then on", async () => {
    const search = { type: "tool_search", execution: "client", parameters: { type: "object" } };
    const { tools, messages } = await turnOf({
      tools: [search],
      input: [
        ask,
        { type: "tool_search_call", call_id: "1", execution: "client", arguments: { query: "q" } },
        {
          type: "tool_search_output",
          call_id: "1",
          execution: "client",
          tools: [namespace("n", functionTool("found"))],
        },
      ],
    });
    expect(tools.map(({ name }) => name)).toEqual(["tool_search", "found"]);
    expect(messages.slice(1)).toEqual([
      { role: "assistant", content: [{ type: "tool-call", id: "1", name: "tool_search", args: { query: "q" } }] },
      result("1", "These tools can be called from now on: found."),
    ]);
  });

  it.each<[unknown, object]>([
    ["none", { toolChoice: { type: "none" } }],
    ["required", { toolChoice: { type: "required" } }],
    [{ type: "function", name: "t" }, { toolChoice: { type: "tool", name: "t" } }],
    [{ type: "custom", name: "c" }, { toolChoice: { type: "tool", name: "c" } }],
    [
      { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "c" }, { type: "web_search" }] },
      { toolChoice: { type: "required" }, tools: [{ name: "c" }] },
    ],
  ])("are chosen by %j", async (tool_choice, expected) => {
    const tools = [functionTool("t"), { type: "custom", name: "c" }, { type: "web_search" }];
    expect(await turnOf({ tools, tool_choice })).toMatchObject(expected);
  });
});

describe("bad input names its place", () => {
  const many = (count: number, of: object) => Array.from({ length: count }, () => of);
  it.each<[string, unknown, string | undefined, RegExp]>([
    ["no object", [], undefined, /expected an object/],
    ["no model", { model: undefined }, "model", /expected a string, got nothing/],
    ["a choice that is none", { tool_choice: "x" }, "tool_choice", /"required" or an object, got a string/],
    ["no input", { input: undefined }, "input", /nothing to answer/],
    ["an empty input", { input: [] }, "input", /nothing to answer/],
    ["an empty text", { input: "" }, "input", /expected at least 1 character/],
    ["an input of the wrong type", { input: 7 }, "input", /expected a string or an array, got a number/],
    ["only instructions for nobody", { input: null, instructions: "a" }, "input", /nothing to answer/],
    ["an item of no type", { input: [{ text: "x" }] }, "input[0].type", /expected one of "message"/],
    ["an item of an unknown type", { input: [ask, { type: "dance" }] }, "input[1].type", /got "dance"/],
    ["a message without content", { input: [{ role: "user" }] }, "input[0].content", /got nothing/],
    ["an unknown role", { input: [{ role: "tool", content: "x" }] }, "input[0].role", /expected one of/],
    [
      "a part of an unknown type",
      { input: [{ role: "user", content: [{ type: "x" }] }] },
      "input[0].content[0].type",
      /"input_text"/,
    ],
    [
      "an image by id",
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
      "input[0].content[0].image_url",
      /the gateway stores no files/,
    ],
    [
      "a bad image",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: "bad" }] }] },
      "input[0].content[0].image_url",
      /cannot be read/,
    ],
    [
      "a file by id",
      { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] },
      "input[0].content[0].file_data",
      /expected the file's content/,
    ],
    [
      "a binary file",
      { input: [{ role: "user", content: [{ type: "input_file", file_data: "data:application/pdf;base64,AA" }] }] },
      "input[0].content[0].file_data",
      /text file/,
    ],
    [
      "a call twice",
      { input: [call("1"), call("1"), output("1")] },
      "input[1].call_id",
      /earlier tool call of the same answer/,
    ],
    ["an orphan result", { input: [ask, output("9")] }, "input[1].call_id", /no earlier tool call has this id/],
    ["a result too much", { input: [call("1"), output("1"), output("1")] }, "input[2].call_id", /already has a result/],
    [
      "an orphan custom result",
      { input: [{ type: "custom_tool_call_output", call_id: "9", output: "" }] },
      "input[0].call_id",
      /no earlier tool call has this id/,
    ],
    [
      "an answer at the end",
      { input: [ask, { role: "assistant", content: "x" }] },
      "input[1]",
      /the last item must be/,
    ],
    ["a call at the end", { input: [ask, call("1")] }, "input[1]", /the last item must be/],
    [
      "two tools of one name",
      { tools: [functionTool("t"), { type: "custom", name: "t" }] },
      "tools[1]",
      /another tool has the same name/,
    ],
    ["a tool without a name", { tools: [{ type: "function" }] }, "tools[0].name", /got nothing/],
    ["tools that are none", { tools: "t" }, "tools", /expected an array/],
    ["a choice among no tools", { tool_choice: "required" }, "tool_choice", /no tools/],
    [
      "a choice that is not there",
      { tool_choice: { type: "function", name: "x" } },
      "tool_choice.name",
      /no tool has this name/,
    ],
    [
      "a choice of a hosted tool",
      { tool_choice: { type: "web_search" } },
      "tool_choice.type",
      /other kinds are not supported/,
    ],
    ["an effort that is none", { reasoning: { effort: "huge" } }, "reasoning.effort", /"high"/],
    ["a limit that is none", { max_output_tokens: 0 }, "max_output_tokens", /at least 1/],
    ["a stream that is no boolean", { stream: "yes" }, "stream", /expected a boolean/],
    [
      "a format without a schema",
      { text: { format: { type: "json_schema", name: "n" } } },
      "text.format.schema",
      /expected an object/,
    ],
    ["too many items", { input: many(10_001, ask) }, "input", /at most 10000, got 10001/],
    [
      "too many images",
      { input: many(21, { role: "user", content: [{ type: "input_image", image_url: "u" }] }) },
      "input",
      /at most 20 images/,
    ],
    ["too many tools", { tools: many(513, functionTool("t")) }, "tools", /at most 512/],
    [
      "too many tools in a namespace",
      {
        tools: [{ type: "namespace", name: "n", tools: Array.from({ length: 513 }, (_, n) => functionTool(`t${n}`)) }],
      },
      "tools",
      /at most 512/,
    ],
  ])("%s", async (_, over, field, message) => {
    const error = await refusal(over);
    expect(error).toMatchObject({ kind: "invalid-request", field });
    expect(error.message).toMatch(message);
  });

  it.each([
    ["background", true],
    ["conversation", "conv_1"],
    ["prompt", { id: "p" }],
    ["top_logprobs", 3],
  ])("%s would be a lie", async (field, value) => {
    expect(await refusal({ [field]: value })).toMatchObject({ field, code: "unsupported_parameter" });
  });
});
