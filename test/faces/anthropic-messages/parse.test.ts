import type Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { Message, Turn } from "../../../src/core/turn.ts";
import { mintSignature } from "../../../src/faces/anthropic-messages/signature.ts";
import { aFace, context, parse, refusal } from "./support/requests.ts";

const text = (value: string) => ({ type: "text", text: value }) as const;
const image = (url: string) => ({ type: "image", mediaType: "image/png", data: Buffer.from(url) });
const base64 = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const call = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "t", input });
const result = (id: string, more: object = {}) => ({ type: "tool_result", tool_use_id: id, ...more });
const user = (...content: unknown[]) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: "object" }, ...more });

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
      maxOutputTokens: 100,
      output: { type: "text" },
    } satisfies Turn);
    expect(isStream).toBe(false);
    expect(ignored).toEqual([]);
  });

  it("may say null where it could say nothing, and what nobody knows", async () => {
    const fields = [
      "system",
      "tools",
      "tool_choice",
      "thinking",
      "output_config",
      "stop_sequences",
      "stream",
      "thread",
    ];
    const nulls = Object.fromEntries(fields.map((field) => [field, null]));
    const unknown = {
      metadata: { user_id: "{}" },
      service_tier: "auto",
      cache_control: { type: "ephemeral" },
      betas: [],
    };
    const { turn, ignored } = await parse({ ...nulls, ...unknown });
    expect(turn).toEqual((await parse()).turn);
    expect(ignored).toEqual([]);
  });

  it("may say that it wants no thread", async () => {
    expect((await parse({ thread: false })).turn).toEqual((await parse()).turn);
  });
});

describe("instructions", () => {
  it.each<[string, object, string]>([
    ["a text", { system: "a" }, "a"],
    ["blocks", { system: [{ ...text("a"), cache_control: { type: "ephemeral" } }, text("b")] }, "a\n\nb"],
    ["the line that is for billing", { system: [text("x-anthropic-billing-header: cc_version=1"), text("b")] }, "b"],
    [
      "within the conversation",
      {
        system: "a",
        messages: [
          { role: "user", content: "q" },
          { role: "system", content: [text("b"), text("c")] },
          { role: "assistant", content: "r" },
          { role: "user", content: "s" },
          { role: "system", content: "d" },
        ],
      },
      "a\n\nb\nc\n\nd",
    ],
    [
      "only until the next question",
      {
        messages: [
          { role: "user", content: "q" },
          { role: "system", content: "old", clear_at: "next_user_message" },
          { role: "user", content: "s" },
          { role: "system", content: "new", clear_at: "next_user_message" },
        ],
      },
      "new",
    ],
  ])("%s", async (_, over, system) => {
    const { turn } = await parse(over);
    expect(turn.system).toBe(system);
    expect(turn.messages.at(-1)?.role).toBe("user");
  });

  it("alone are the question", async () => {
    const { turn } = await parse({ messages: [{ role: "system", content: "say hi" }] });
    expect(turn).toMatchObject({ system: "", messages: [{ role: "user", content: [text("say hi")] }] });
  });
});

describe("the messages", () => {
  const file = { type: "file", name: "notes", text: "x" };
  it.each<[string, readonly object[], readonly unknown[]]>([
    ["texts, empty ones aside", [user(text("a"), text(""), text("b"))], [user(text("a\n"), text("b"))]],
    ["images", [user(base64)], [user(image("data:image/png;base64,AAAA"))]],
    [
      "an image by URL",
      [user({ type: "image", source: { type: "url", url: "https://x" } })],
      [user(image("https://x"))],
    ],
    [
      "documents",
      [
        user(
          { type: "document", title: "notes", source: { type: "text", media_type: "text/plain", data: "x" } },
          { type: "document", title: "notes", source: { type: "base64", media_type: "text/plain", data: "eA==" } },
          { type: "document", title: "notes", source: { type: "content", content: [text("x")] } },
        ),
      ],
      [user(file, file, file)],
    ],
    [
      "search results",
      [user({ type: "search_result", title: "T", source: "S", content: [text("x")] })],
      [user(text("T\nS\n\nx"))],
    ],
    [
      "calls and their results, words after them apart",
      [
        user(text("q")),
        assistant(text("a"), call("1", { x: 1 }), call("2")),
        user(
          result("2", { content: "two" }),
          result("1", { content: [text("one"), base64], is_error: true }),
          text("and?"),
        ),
      ],
      [
        user(text("q")),
        assistant(
          text("a"),
          { type: "tool-call", id: "1", name: "t", args: { x: 1 } },
          { type: "tool-call", id: "2", name: "t", args: {} },
        ),
        { role: "tool", callId: "2", content: [text("two")], isError: false },
        { role: "tool", callId: "1", content: [text("one"), image("data:image/png;base64,AAAA")], isError: true },
        user(text("and?")),
      ],
    ],
    [
      "reminders beside results are part of the last one",
      [user(text("q")), assistant(call("1")), user(result("1", { content: "" }), text("<system-reminder>\nr"))],
      [
        user(text("q")),
        assistant({ type: "tool-call", id: "1", name: "t", args: {} }),
        { role: "tool", callId: "1", content: [text("<system-reminder>\nr")], isError: false },
      ],
    ],
    [
      "a document as a result",
      [
        user(text("q")),
        assistant(call("1")),
        user(result("1", { content: [{ type: "document", title: "notes", source: { type: "text", data: "x" } }] })),
      ],
      [
        user(text("q")),
        assistant({ type: "tool-call", id: "1", name: "t", args: {} }),
        { role: "tool", callId: "1", content: [text("notes\n\nx")], isError: false },
      ],
    ],
    [
      "input that is no object is kept",
      [user(text("q")), assistant(call("1", '{"x":1}'), call("2", "no"), call("3", [1])), user(result("1"))],
      [
        user(text("q")),
        assistant(
          { type: "tool-call", id: "1", name: "t", args: { x: 1 } },
          { type: "tool-call", id: "2", name: "t", args: { invalid_arguments: "no" } },
          { type: "tool-call", id: "3", name: "t", args: { invalid_arguments: "[1]" } },
        ),
        { role: "tool", callId: "1", content: [], isError: false },
      ],
    ],
    [
      "what another backend's tools left behind",
      [
        user(text("q")),
        assistant({ type: "server_tool_use", id: "s", name: "w", input: {} }, { type: "redacted_thinking" }, text("a")),
        user(text("r")),
      ],
      [user(text("q")), assistant(text("a")), user(text("r"))],
    ],
    [
      "sealed thinking",
      [user(text("q")), assistant({ type: "redacted_thinking", data: "x" }, text("a")), user(text("r"))],
      [user(text("q")), assistant({ type: "thinking", text: "", signature: "redacted:x" }, text("a")), user(text("r"))],
    ],
  ])("%s", async (_, messages, expected) => {
    expect((await parse({ messages })).turn.messages).toEqual(expected as Message[]);
  });

  it.each<[string, object, readonly unknown[]]>([
    [
      "the upstream's signature comes back as it was",
      { signature: "theirs" },
      [{ type: "thinking", text: "hm", signature: "theirs" }],
    ],
    ["an empty one is none", { signature: "" }, [{ type: "thinking", text: "hm", signature: undefined }]],
    [
      "one of ours is not shown to the upstream",
      { signature: mintSignature("hm") },
      [{ type: "thinking", text: "hm", signature: undefined }],
    ],
    ["one of ours on another text: it is not what was thought", { signature: mintSignature("no") }, []],
  ])("thinking: %s", async (_, more, expected) => {
    const thinking = { type: "thinking", thinking: "hm", ...more };
    const { turn } = await parse({ messages: [user(text("q")), assistant(thinking, text("a")), user(text("r"))] });
    expect(turn.messages[1]?.content).toEqual([...expected, text("a")]);
  });
});

/** Complete by its type: a new version of the SDK brings what is new. */
const LEFT_BEHIND: Record<Exclude<Anthropic.Beta.BetaContentBlock["type"], OwnBlock>, true> = {
  advisor_tool_result: true,
  bash_code_execution_tool_result: true,
  code_execution_tool_result: true,
  compaction: true,
  container_upload: true,
  fallback: true,
  mcp_tool_listing: true,
  mcp_tool_result: true,
  mcp_tool_use: true,
  server_tool_use: true,
  text_editor_code_execution_tool_result: true,
  tool_search_tool_result: true,
  web_fetch_tool_result: true,
  web_search_tool_result: true,
};
type OwnBlock = "text" | "thinking" | "redacted_thinking" | "tool_use";

it.each(Object.keys(LEFT_BEHIND))("a conversation that began at Anthropic's may hold %s", async (type) => {
  const messages = [user(text("q")), assistant({ type, id: "x" }, text("a")), user(text("r"))];
  expect((await parse({ messages })).turn.messages).toEqual([user(text("q")), assistant(text("a")), user(text("r"))]);
});

describe("tools", () => {
  it("are offered as they are, those of Anthropic's that a client runs with a schema, the others listed as ignored", async () => {
    const { turn, ignored } = await parse({
      tools: [
        tool("a", {
          description: "does",
          type: "custom",
          cache_control: { type: "ephemeral" },
          eager_input_streaming: true,
        }),
        { type: "bash_20250124", name: "bash" },
        { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
        { type: "web_search_20250305", name: "web_search", max_uses: 5 },
      ],
    });
    expect(turn.tools.map(({ name }) => name)).toEqual(["a", "bash", "str_replace_based_edit_tool"]);
    expect(turn.tools[0]).toEqual({
      name: "a",
      field: "tools[0].input_schema",
      description: "does",
      schema: { type: "object" },
    });
    expect(ignored).toEqual(["tools[3]"]);
  });

  it("that wait to be found are offered once they were found, or if nobody can look for them", async () => {
    const tools = [tool("find"), tool("far", { defer_loading: true }), tool("farther", { defer_loading: true })];
    const names = async (over: object) => (await parse(over)).turn.tools.map(({ name }) => name);
    expect(await names({ tools })).toEqual(["find"]);
    const found = result("1", { content: [{ type: "tool_reference", tool_name: "far" }] });
    expect(await names({ tools, messages: [user(text("q")), assistant(call("1")), user(found)] })).toEqual([
      "find",
      "far",
    ]);
    const search = { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" };
    expect(await names({ tools: [...tools, search] })).toEqual(["find", "far", "farther"]);
  });

  it("change in the course of the conversation", async () => {
    const change = (type: string, of: object) => ({ type, tool: of });
    const { turn } = await parse({
      tools: [tool("a"), tool("b", { defer_loading: true })],
      messages: [
        { role: "user", content: "q" },
        {
          role: "system",
          content: [
            change("tool_removal", { type: "tool_reference", name: "a" }),
            change("tool_addition", { type: "tool_reference", name: "b" }),
            change("tool_addition", { type: "tool_definition", definition: tool("c") }),
          ],
        },
      ],
    });
    expect(turn.tools.map(({ name }) => name)).toEqual(["b", "c"]);
  });

  it.each<[object, object]>([
    [{ type: "auto" }, { toolChoice: { type: "auto" }, allowsParallelCalls: true }],
    [{ type: "none" }, { toolChoice: { type: "none" } }],
    [{ type: "any" }, { toolChoice: { type: "required" } }],
    [{ type: "tool", name: "a" }, { toolChoice: { type: "tool", name: "a" } }],
    [{ type: "auto", disable_parallel_tool_use: true }, { allowsParallelCalls: false }],
  ])("the choice %j", async (tool_choice, expected) => {
    const { turn, ignored } = await parse({ tools: [tool("a")], tool_choice });
    expect(turn).toMatchObject(expected);
    expect(ignored).toEqual([]);
  });
});

describe("the rest", () => {
  it.each<[object, string | undefined]>([
    [{ output_config: { effort: "xhigh" } }, "xhigh"],
    [{ thinking: { type: "adaptive", display: "updates" }, output_config: { effort: "medium" } }, "medium"],
    [{ thinking: { type: "adaptive" } }, undefined],
    [{ thinking: { type: "disabled" }, output_config: { effort: "high" } }, "none"],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, "low"],
    [{ thinking: { type: "enabled", budget_tokens: 8000 } }, "medium"],
    [{ thinking: { type: "enabled", budget_tokens: 31_999, display: "omitted" } }, "high"],
    [{ thinking: { type: "between_tools" } }, undefined],
  ])("%j is the effort %s", async (over, effort) => {
    expect((await parse(over)).turn.model.effort).toBe(effort);
  });

  it("the format of the answer, at its old place, too", async () => {
    const format = { type: "json_schema", schema: { type: "object" } };
    const output = { type: "json-schema", name: "answer", schema: { type: "object" } };
    expect((await parse({ output_config: { format } })).turn.output).toEqual({
      ...output,
      field: "output_config.format.schema",
    });
    expect((await parse({ output_format: format })).turn.output).toEqual({ ...output, field: "output_format.schema" });
  });

  it("stop sequences, streaming, and what cannot be honoured", async () => {
    const { turn, isStream, ignored } = await parse({
      stream: true,
      stop_sequences: ["a", ""],
      temperature: 1,
      top_k: 5,
      context_management: { edits: [] },
    });
    expect([turn.stop, isStream, ignored]).toEqual([["a"], true, ["context_management"]]);
    expect(turn.sampling).toEqual({ temperature: 1, top_k: 5 });
  });

  it("tokens are counted without asking for an answer", async () => {
    const body = { model: "m", messages: [{ role: "user", content: "x".repeat(40) }], tools: [tool("t")] };
    expect(await aFace().countTokens(body, context)).toEqual({ input_tokens: 10 + 5 });
    await expect(aFace().countTokens({ messages: [] }, context)).rejects.toMatchObject({ field: "model" });
    const answered = { ...body, messages: [...body.messages, { role: "assistant", content: "y".repeat(8) }] };
    expect(await aFace().countTokens(answered, context)).toEqual({ input_tokens: 10 + 2 + 5 });
  });
});

describe("what is refused", () => {
  const asked = user(text("q"));
  it.each<[string, object, string, RegExp]>([
    ["no messages", { messages: [] }, "messages", /at least 1 entry/],
    ["a role that is none", { messages: [{ role: "tool", content: "x" }] }, "messages[0].role", /expected/],
    ["no max_tokens", { max_tokens: undefined }, "max_tokens", /expected/],
    ["max_tokens of nothing", { max_tokens: 0 }, "max_tokens", /at least 1/],
    ["a wrong type of what would be ignored", { temperature: "hot" }, "temperature", /a number, got a string/],
    [
      "a call without arguments",
      { messages: [asked, assistant({ type: "tool_use", id: "1", name: "t" }), user(result("1"))] },
      "messages[1].content[0].input",
      /expected a value, got nothing/,
    ],
    ["a wrong type", { messages: [user({ type: "text", text: 5 })] }, "messages[0].content[0].text", /a string/],
    [
      "a block that nobody knows",
      { messages: [user({ type: "hologram" })] },
      "messages[0].content[0].type",
      /hologram/,
    ],
    ["an answer at the end", { messages: [asked, assistant(text("a"))] }, "messages[1].role", /must end with a "user"/],
    [
      "a result of no call",
      { messages: [user(result("1"))] },
      "messages[0].content[0].tool_use_id",
      /no earlier tool call has this id/,
    ],
    [
      "two results of one call",
      { messages: [asked, assistant(call("1")), user(result("1"), result("1"))] },
      "messages[2].content[1].tool_use_id",
      /already has a result/,
    ],
    [
      "an image that is bad",
      { messages: [user({ type: "image", source: { type: "url", url: "bad" } })] },
      "messages[0].content[0].source.url",
      /cannot be read/,
    ],
    [
      "a PDF",
      { messages: [user({ type: "document", source: { type: "base64", media_type: "application/pdf", data: "AA" } })] },
      "messages[0].content[0].source.data",
      /a text file/,
    ],
    [
      "a file by id",
      { messages: [user({ type: "image", source: { type: "file", file_id: "f" } })] },
      "messages[0].content[0].source.file_id",
      /the gateway stores no files/,
    ],
    [
      "two calls of one id",
      { messages: [asked, assistant(text("a"), call("1"), call("1")), user(result("1"))] },
      "messages[1].content[2].id",
      /same message/,
    ],
    ["a tool without a schema", { tools: [{ name: "a" }] }, "tools[0].input_schema", /an object/],
    ["a tool without a name", { tools: [{ input_schema: {} }] }, "tools[0].name", /a string/],
    ["two tools of one name", { tools: [tool("a"), tool("a")] }, "tools[1].name", /another tool has the same name/],
    ["a choice of no tool", { tool_choice: { type: "any" } }, "tool_choice", /no tools/],
    [
      "a choice of another tool",
      { tools: [tool("a")], tool_choice: { type: "tool", name: "b" } },
      "tool_choice.name",
      /no tool/,
    ],
    ["thinking that is none", { thinking: { type: "hard" } }, "thinking.type", /expected one of/],
    ["an effort that is none", { output_config: { effort: "heroic" } }, "output_config.effort", /expected one of/],
    ["a thread", { thread: { type: "create" } }, "thread", /whole/],
  ])("%s", async (_, over, field, message) => {
    const error = await refusal(over);
    expect(error).toMatchObject({ kind: "invalid-request", field });
    expect(error.message).toMatch(message);
  });

  it("more than may be", async () => {
    const messages = [asked, asked, asked];
    expect(await refusal({ messages }, { maxMessages: 2 })).toMatchObject({ field: "messages" });
    expect(await refusal({ tools: [tool("a"), tool("b")] }, { maxTools: 1 })).toMatchObject({ field: "tools" });
    const pictures = [asked, assistant(call("1")), user(result("1", { content: [base64] }), base64)];
    expect(await refusal({ messages: pictures }, { maxImages: 1 })).toMatchObject({ field: "messages" });
  });
});
