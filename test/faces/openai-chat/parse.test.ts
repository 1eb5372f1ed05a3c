import { describe, expect, it } from "vitest";
import type { Message, Turn } from "../../../src/core/turn.ts";
import { errorBody } from "../../../src/faces/openai-chat/errors.ts";
import { aRequest, context, parse, refusal } from "./support/requests.ts";

const text = (value: string) => ({ type: "text", text: value }) as const;
const IMAGE_FILE = { type: "file", file: { filename: "a.png", file_data: "data:image/png;base64,AA==" } };
const image = (url: string) => ({ type: "image", mediaType: "image/png", data: Buffer.from(url) });
const call = (id: string, args = "{}") => ({ id, type: "function", function: { name: "t", arguments: args } });

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
    const fields = ["stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "stop", "max_tokens"];
    const more = [
      "max_completion_tokens",
      "response_format",
      "reasoning_effort",
      "temperature",
      "n",
      "logprobs",
      "audio",
    ];
    const nulls = Object.fromEntries([...fields, ...more].map((field) => [field, null]));
    const unknown = {
      prompt_cache_key: "k",
      client_metadata: {},
      store: false,
      user: "u",
      metadata: {},
      service_tier: "x",
    };
    const { turn, ignored } = await parse({ ...nulls, ...unknown });
    expect(turn).toEqual((await parse()).turn);
    expect(ignored).toEqual([]);
  });
});

describe("the messages", () => {
  it.each<[string, readonly object[], string, readonly unknown[]]>([
    ["system", [{ role: "system", content: "a" }], "a", []],
    ["developer", [{ role: "developer", content: [text("a"), text("b")] }], "a\nb", []],
    [
      "text parts, apart from each other",
      [{ role: "user", content: [text("read"), text(""), text("describe\n"), text("it")] }],
      "",
      [{ role: "user", content: [text("read\n"), text("describe\n"), text("it")] }],
    ],
    [
      "several instructions, wherever they stand",
      [
        { role: "system", content: "a" },
        { role: "user", content: "x" },
        { role: "system", content: "b" },
      ],
      "a\n\nb",
      [{ role: "user", content: [text("x")] }],
    ],
    [
      "text parts with cache marks",
      [{ role: "user", content: [{ ...text("a"), cache_control: {} }, text("")] }],
      "",
      [{ role: "user", content: [text("a")] }],
    ],
    [
      "an image by URL, and by object",
      [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: "u" },
            { type: "image_url", image_url: { url: "v", detail: "high" } },
          ],
        },
      ],
      "",
      [{ role: "user", content: [image("u"), image("v")] }],
    ],
    [
      "an answer as text",
      [{ role: "assistant", content: "a", name: "model" }],
      "",
      [{ role: "assistant", content: [text("a")] }],
    ],
    [
      "an answer as parts, with refusal null",
      [{ role: "assistant", content: [text("a"), text("b")], refusal: null }],
      "",
      [{ role: "assistant", content: [text("a"), text("b")] }],
    ],
    [
      "a refusal, in a field and as a part",
      [
        { role: "assistant", refusal: "no" },
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
      ],
      "",
      [
        { role: "assistant", content: [text("no")] },
        { role: "assistant", content: [text("no")] },
      ],
    ],
    ["an empty answer", [{ role: "assistant", content: null }], "", [{ role: "assistant", content: [] }]],
    [
      "thinking under either name",
      [
        { role: "assistant", content: "a", reasoning_content: "h" },
        { role: "assistant", content: "a", reasoning: "h" },
      ],
      "",
      Array(2).fill({ role: "assistant", content: [{ type: "thinking", text: "h", signature: undefined }, text("a")] }),
    ],
    [
      "thinking that is no text is let go",
      [{ role: "assistant", content: "a", reasoning: { x: 1 } }],
      "",
      [{ role: "assistant", content: [text("a")] }],
    ],
  ])("%s", async (_, given, system, expected) => {
    const { turn } = await parse({ messages: [...given, { role: "user", content: "hi" }] });
    expect(turn.system).toBe(system);
    expect(turn.messages.slice(0, -1)).toEqual(expected);
  });

  it.each<[string, object, unknown]>([
    ["no arguments", call("1", ""), {}],
    ["arguments", call("1", '{"a":[1]}'), { a: [1] }],
    ["broken arguments, kept as they are", call("1", '{"a":'), { invalid_arguments: '{"a":' }],
    ["arguments that are no object", call("1", "[1]"), { invalid_arguments: "[1]" }],
    ["no type", { id: "1", function: { name: "t" } }, {}],
  ])("a call with %s", async (_, given, args) => {
    for (const content of ["", null, undefined, []]) {
      const messages = [
        { role: "assistant", content, tool_calls: [given] },
        { role: "tool", tool_call_id: "1", content: "r" },
      ];
      expect((await parse({ messages })).turn.messages).toEqual([
        { role: "assistant", content: [{ type: "tool-call", id: "1", name: "t", args }] },
        { role: "tool", callId: "1", content: [text("r")], isError: false },
      ] satisfies readonly unknown[] as readonly Message[]);
    }
  });

  it.each<[string, unknown, readonly unknown[]]>([
    ["text", "r", [text("r")]],
    ["nothing", "", []],
    ["null", null, []],
    ["parts", [text("a"), { type: "image_url", image_url: { url: "u" } }], [text("a"), image("u")]],
  ])("a result that is %s", async (_, content, expected) => {
    const messages = [
      { role: "assistant", tool_calls: [call("1")] },
      { role: "tool", tool_call_id: "1", name: "t", content },
    ];
    expect((await parse({ messages })).turn.messages[1]?.content).toEqual(expected);
  });

  it("results keep the order in which they came, and an id may serve again in a later answer", async () => {
    const messages = [
      { role: "assistant", tool_calls: [call("1"), call("2")] },
      { role: "tool", tool_call_id: "2", content: "b" },
      { role: "tool", tool_call_id: "1", content: "a" },
      { role: "assistant", tool_calls: [call("1")] },
      { role: "tool", tool_call_id: "1", content: "c" },
    ];
    const { turn } = await parse({ messages });
    expect(turn.messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []))).toEqual([
      "2",
      "1",
      "1",
    ]);
  });

  it.each<[string, readonly object[], readonly object[]]>([
    ["alone", [{ role: "system", content: "a" }], []],
    [
      "after an answer",
      [
        { role: "system", content: "a" },
        { role: "assistant", content: "x" },
      ],
      [{ role: "assistant", content: [text("x")] }],
    ],
  ])("the last instruction asks where nobody else does: %s", async (_, before, messages) => {
    const { turn } = await parse({ messages: [...before, { role: "developer", content: "b" }] });
    expect(turn).toMatchObject({ system: "a", messages: [...messages, { role: "user", content: [text("b")] }] });
  });
});

describe("attached files", () => {
  const file = (data: string, filename?: string) => ({ type: "file", file: { file_data: data, filename } });
  const base64 = (value: string) => Buffer.from(value).toString("base64");

  it.each<[string, object, unknown]>([
    ["a data URL", file(`data:text/plain;base64,${base64("héllo")}`, "a.txt"), { name: "a.txt", text: "héllo" }],
    [
      "one with a charset",
      file(`data:text/csv;charset=utf-8;base64,${base64("a,b")}`, "a.csv"),
      { name: "a.csv", text: "a,b" },
    ],
    ["one with escapes", file("data:application/json,%7B%7D", "a.json"), { name: "a.json", text: "{}" }],
    ["one of a +json type", file(`data:application/ld+json;base64,${base64("{}")}`), { name: "file", text: "{}" }],
    ["bare base64", file(base64("a text of some length"), "a.txt"), { name: "a.txt", text: "a text of some length" }],
    ["bare text", file("const a = 1;\n", "a.ts"), { name: "a.ts", text: "const a = 1;\n" }],
    ["one short word", file("test", "a.txt"), { name: "a.txt", text: "test" }],
  ])("as %s", async (_, part, expected) => {
    const { turn } = await parse({ messages: [{ role: "user", content: [part] }] });
    expect(turn.messages[0]?.content).toEqual([{ type: "file", ...(expected as object) }]);
  });

  it("an image is an image, however it is attached", async () => {
    const { turn } = await parse({
      messages: [{ role: "user", content: [file("data:image/png;base64,AA==", "a.png")] }],
    });
    expect(turn.messages[0]?.content).toEqual([image("data:image/png;base64,AA==")]);
  });

  it.each([
    ["a PDF", file(`data:application/pdf;base64,${base64("%PDF-1.7")}`), "file_data"],
    ["bytes", file(`data:application/octet-stream;base64,${base64("a\0b")}`), "file_data"],
    ["bare bytes", file(base64("a\0b".repeat(20))), "file_data"],
    ["a broken data URL", file("data:text/plain"), "file_data"],
    ["broken escapes", file("data:text/plain,%zz"), "file_data"],
    ["an id", { type: "file", file: { file_id: "f" } }, "file_data"],
  ])("not %s", async (_, part, field) => {
    const error = await refusal(aRequest({ messages: [{ role: "user", content: [text("a"), part] }] }));
    expect(error).toMatchObject({ kind: "invalid-request", field: `messages[0].content[1].file.${field}` });
  });
});

describe("tools", () => {
  const tool = (name: string, more: object = {}) => ({ type: "function", function: { name, ...more } });
  const parameters = { $schema: "x", type: "object", properties: { a: { type: "string" } } };

  it("are offered as they are", async () => {
    const tools = [tool("a", { description: "d", parameters, strict: true }), tool("b")];
    expect((await parse({ tools, parallel_tool_calls: false })).turn).toMatchObject({
      tools: [
        { name: "a", description: "d", schema: parameters },
        { name: "b", description: "", schema: { type: "object", properties: {} } },
      ],
      allowsParallelCalls: false,
    });
  });

  it.each<[unknown, unknown, readonly string[]]>([
    ["auto", { type: "auto" }, ["a", "b"]],
    ["none", { type: "none" }, ["a", "b"]],
    ["required", { type: "required" }, ["a", "b"]],
    [{ type: "function", function: { name: "b" } }, { type: "tool", name: "b" }, ["a", "b"]],
    [{ type: "allowed_tools", allowed_tools: { mode: "required", tools: [tool("b")] } }, { type: "required" }, ["b"]],
  ])("are chosen by %j", async (tool_choice, expected, names) => {
    const { turn } = await parse({ tools: [tool("a"), tool("b")], tool_choice });
    expect(turn.toolChoice).toEqual(expected);
    expect(turn.tools.map(({ name }) => name)).toEqual(names);
  });

  it.each<[string, object, string]>([
    ["two of one name", { tools: [tool("a"), tool("a")] }, "tools[1].function.name"],
    ["no name", { tools: [tool("")] }, "tools[0].function.name"],
    ["another type", { tools: [{ type: "web_search" }] }, "tools[0].type"],
    ["a name with control characters", { tools: [tool("a\u0007")] }, "tools[0].function.name"],
    ["a name that is too long", { tools: [tool("a".repeat(257))] }, "tools[0].function.name"],
    ["more than can be offered", { tools: Array.from({ length: 513 }, (_, n) => tool(`t${n}`)) }, "tools"],
    [
      "parameters of another type",
      { tools: [tool("a"), tool("b", { parameters: { type: "string" } })] },
      "tools[1].function.parameters.type",
    ],
    [
      "properties that are no object",
      { tools: [tool("a", { parameters: { type: "object", properties: ["x"] } })] },
      "tools[0].function.parameters.properties",
    ],
    [
      "required that is no list",
      { tools: [tool("a", { parameters: { type: "object", required: "x" } })] },
      "tools[0].function.parameters.required",
    ],
    ["parameters that are no object", { tools: [tool("a", { parameters: [] })] }, "tools[0].function.parameters"],
    ["a choice that is not there", { tools: [tool("a")], tool_choice: tool("b") }, "tool_choice.function.name"],
    ["a must without tools", { tool_choice: "required" }, "tool_choice"],
    ["a choice of another kind", { tool_choice: "maybe" }, "tool_choice"],
    [
      "one allowed that is not there",
      {
        tools: [tool("a")],
        tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [tool("b")] } },
      },
      "tool_choice.allowed_tools.tools[0].function.name",
    ],
  ])("not with %s", async (_, over, field) => {
    expect(await refusal(aRequest(over))).toMatchObject({ kind: "invalid-request", field });
  });
});

describe("the other fields", () => {
  it.each<[object, Partial<Turn>]>([
    [{ stop: "a" }, { stop: ["a"] }],
    [{ stop: ["a", "", "b", "c", "d", "e"] }, { stop: ["a", "b", "c", "d", "e"] }],
    [{ max_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_completion_tokens: 6, max_tokens: 5 }, { maxOutputTokens: 6 }],
    [{ reasoning_effort: "xhigh" }, { model: { id: "m", effort: "xhigh" } }],
    [{ response_format: { type: "text" } }, { output: { type: "text" } }],
    [{ response_format: { type: "json_object" } }, { output: { type: "json" } }],
    [
      { response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema: { a: 1 } } } },
      { output: { type: "json-schema", name: "x", schema: { a: 1 }, field: "response_format.json_schema.schema" } },
    ],
    [{ response_format: { type: "json_schema", json_schema: { name: "x" } } }, { output: { type: "json" } }],
    [
      { response_format: { type: "json_schema", schema: { a: 1 } } },
      { output: { type: "json-schema", name: "answer", schema: { a: 1 }, field: "response_format.schema" } },
    ],
    [
      { response_format: { type: "json_schema", name: "x", schema: { a: 1 }, strict: true } },
      { output: { type: "json-schema", name: "x", schema: { a: 1 }, field: "response_format.schema" } },
    ],
    [
      { response_format: { type: "json_object", schema: { a: 1 } } },
      { output: { type: "json-schema", name: "answer", schema: { a: 1 }, field: "response_format.schema" } },
    ],
    [
      { response_format: { type: "json_schema", json_schema: { name: "x", schema: { a: 1 } }, schema: { b: 1 } } },
      { output: { type: "json-schema", name: "x", schema: { a: 1 }, field: "response_format.json_schema.schema" } },
    ],
  ])("%j", async (over, expected) => {
    expect((await parse(over)).turn).toMatchObject(expected);
  });

  it.each([
    [{ n: 1, logprobs: false, top_logprobs: 0, modalities: ["text"], functions: [], function_call: "auto" }, []],
    [{ logit_bias: {} }, ["logit_bias"]],
    [{ temperature: null, prediction: {}, verbosity: "low", top_k: 4 }, ["prediction", "verbosity"]],
  ])("%j are taken, and told as ignored: %j", async (over, ignored) => {
    expect((await parse(over)).ignored).toEqual(ignored);
  });

  it("how the next token is chosen is for the upstream to say whether it can", async () => {
    const sampling = {
      ...{ temperature: 0.5, top_p: 1, top_k: 4, min_p: 0.1, seed: 1 },
      ...{ presence_penalty: 0, frequency_penalty: 1, repetition_penalty: 1.1 },
    };
    expect((await parse({ ...sampling, logprobs: null })).turn.sampling).toEqual(sampling);
    expect((await parse({ temperature: null })).turn).not.toHaveProperty("sampling");
  });

  it.each([
    ["n", 2],
    ["n", "1"],
    ["logprobs", true],
    ["top_logprobs", 3],
    ["modalities", ["text", "audio"]],
    ["audio", { voice: "alloy" }],
    ["functions", [{ name: "f" }]],
    ["function_call", { name: "f" }],
  ])("%s: %j is refused as something that cannot be done", async (field, value) => {
    const error = await refusal(aRequest({ [field]: value }));
    expect(error).toMatchObject({ kind: "invalid-request", code: "unsupported_parameter", field });
    expect(error.message).toMatch(new RegExp(`^${field}: `));
  });
});

describe("what is wrong is named", () => {
  const messages = (...list: unknown[]) => aRequest({ messages: list });
  const asked = { role: "user", content: "hi" };

  it.each<[unknown, string | undefined, string]>([
    [null, undefined, "The request body: expected an object, got null."],
    [[], undefined, "The request body: expected an object, got an array."],
    ["x", undefined, "The request body: expected an object, got a string."],
    [{}, "model", "model: expected a string, got nothing."],
    [aRequest({ model: "" }), "model", "model: expected at least 1 character."],
    [aRequest({ model: 3 }), "model", "model: expected a string, got a number."],
    [{ model: "m" }, "messages", "messages: expected an array, got nothing."],
    [messages(), "messages", "messages: expected at least 1 entry."],
    [messages(3), "messages[0]", "messages[0]: expected an object, got a number."],
    [
      messages({}),
      "messages[0].role",
      'messages[0].role: expected one of "system", "developer", "user", "assistant", "tool", got nothing.',
    ],
    [
      messages({ role: "function", name: "f", content: "" }),
      "messages[0].role",
      'messages[0].role: expected one of "system", "developer", "user", "assistant", "tool", got "function".',
    ],
    [
      messages({ role: "user" }),
      "messages[0].content",
      "messages[0].content: expected a string or an array, got nothing.",
    ],
    [
      messages({ role: "user", content: [{ type: "text" }] }),
      "messages[0].content[0].text",
      "messages[0].content[0].text: expected a string, got nothing.",
    ],
    [
      messages({ role: "user", content: [{ type: "input_audio" }] }),
      "messages[0].content[0].type",
      'messages[0].content[0].type: expected one of "text", "image_url", "file", got "input_audio".',
    ],
    [
      messages({ role: "user", content: [{ type: "image_url", image_url: { url: 3 } }] }),
      "messages[0].content[0].image_url.url",
      "messages[0].content[0].image_url.url: expected a string, got a number.",
    ],
    [
      messages({ role: "system", content: [{ type: "image_url", image_url: "u" }] }),
      "messages[0].content[0].type",
      'messages[0].content[0].type: expected "text", got "image_url".',
    ],
    [
      messages({ role: "assistant", tool_calls: [{ id: "1" }] }),
      "messages[0].tool_calls[0].function",
      "messages[0].tool_calls[0].function: expected an object, got nothing.",
    ],
    [
      messages({ role: "assistant", tool_calls: [{ id: "1", type: "custom" }] }),
      "messages[0].tool_calls[0].type",
      'messages[0].tool_calls[0].type: expected "function", got "custom".',
    ],
    [
      messages({ role: "tool", content: "r" }, asked),
      "messages[0].tool_call_id",
      "messages[0].tool_call_id: expected a string, got nothing.",
    ],
    [
      messages(asked, { role: "tool", tool_call_id: "1", content: "r" }),
      "messages[1].tool_call_id",
      "messages[1].tool_call_id: no earlier tool call has this id.",
    ],
    [
      messages(
        { role: "assistant", tool_calls: [call("1")] },
        { role: "tool", tool_call_id: "1", content: "" },
        { role: "tool", tool_call_id: "1", content: "" },
      ),
      "messages[2].tool_call_id",
      "messages[2].tool_call_id: the tool call with this id already has a result.",
    ],
    [
      messages(asked, { role: "assistant", content: "a" }),
      "messages[1].role",
      'messages[1].role: the last message must be from "user" or "tool".',
    ],
    [aRequest({ stream: "yes" }), "stream", "stream: expected a boolean, got a string."],
    [aRequest({ stop: 3 }), "stop", "stop: expected a string or an array, got a number."],
    [aRequest({ stop: ["a", 3] }), "stop[1]", "stop[1]: expected a string, got a number."],
    [aRequest({ max_tokens: 0 }), "max_tokens", "max_tokens: expected at least 1."],
    [aRequest({ max_tokens: 1.5 }), "max_tokens", "max_tokens: expected an integer, got a number."],
    [aRequest({ temperature: "hot" }), "temperature", "temperature: expected a number, got a string."],
    [
      aRequest({ reasoning_effort: "much" }),
      "reasoning_effort",
      'reasoning_effort: expected one of "none", "minimal", "low", "medium", "high", "xhigh", "max", got "much".',
    ],
    [
      aRequest({ response_format: { type: "xml" } }),
      "response_format.type",
      'response_format.type: expected one of "text", "json_object", "json_schema", got "xml".',
    ],
    [
      aRequest({ response_format: { type: "json_schema" } }),
      "response_format.json_schema",
      "response_format.json_schema: expected an object, got nothing.",
    ],
    [
      aRequest({ response_format: { type: "json_schema", json_schema: { name: "x", schema: [] } } }),
      "response_format.json_schema.schema",
      "response_format.json_schema.schema: expected an object.",
    ],
    [
      aRequest({ response_format: { type: "json_object", schema: [] } }),
      "response_format.schema",
      "response_format.schema: expected an object.",
    ],
  ])("%j", async (body, field, message) => {
    expect(await refusal(body)).toMatchObject({ kind: "invalid-request", field, message });
  });

  it("an image that cannot be had, with its place", async () => {
    const content = [text("a"), { type: "image_url", image_url: { url: "bad" } }];
    expect(await refusal(messages({ role: "user", content }))).toMatchObject({
      kind: "invalid-request",
      field: "messages[0].content[1].image_url.url",
      message: "The image cannot be read.",
    });
  });

  it.each<[string, object]>([
    ["messages", { messages: Array(4).fill({ role: "user", content: "a" }) }],
    ["tools", { tools: Array(4).fill({ type: "function", function: { name: "a" } }) }],
    ["messages", { messages: [{ role: "user", content: Array(4).fill({ type: "image_url", image_url: "u" }) }] }],
    ["messages", { messages: [{ role: "user", content: Array(4).fill(IMAGE_FILE) }] }],
  ])("too many %s", async (field, over) => {
    const options = { limits: { maxMessages: 3, maxTools: 3, maxImages: 3 } };
    const error = await refusal(aRequest(over), options);
    expect(error).toMatchObject({ kind: "invalid-request", field });
    expect(error.message).toContain("expected at most 3");
  });

  it("the first ten thousand messages are fine", async () => {
    const many = Array.from({ length: 10_000 }, () => asked);
    expect((await parse({ messages: many })).turn.messages).toHaveLength(10_000);
    expect(await refusal(aRequest({ messages: [...many, asked] }))).toMatchObject({ field: "messages" });
  });
});

it("puts errors in OpenAI's words", async () => {
  const error = await refusal(aRequest({ n: 2 }));
  expect(errorBody(error, "r1")).toEqual({
    status: 400,
    headers: { "x-should-retry": "false" },
    body: {
      error: {
        message: "n: expected 1: each request gets one answer.",
        type: "invalid_request_error",
        param: "n",
        code: "unsupported_parameter",
      },
    },
  });
});
