import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY, setUpGateway } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const look: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "look",
    description: "looks",
    parameters: { type: "object", properties: { at: { type: "string" } } },
  },
};
const PROMPT =
  '@sim say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}';

type Messages = OpenAI.ChatCompletionMessageParam[];

const isFunction = (call: OpenAI.ChatCompletionMessageToolCall) => call.type === "function";

/** One request of a conversation, with what it answers appended. */
async function ask(client: OpenAI, messages: Messages) {
  const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages, tools: [look] });
  const message = choices[0]?.message;
  if (!message) throw new Error("no answer");
  const calls = (message.tool_calls ?? []).filter(isFunction);
  return { message, calls, finish: choices[0]?.finish_reason };
}

const results = (calls: readonly { id: string; function: { arguments: string } }[]): Messages =>
  calls.map(({ id, function: { arguments: args } }) => ({
    role: "tool",
    tool_call_id: id,
    content: `saw ${JSON.parse(args).at}`,
  }));

describe.each(["h2", "h1"] as const)("tool calls over %s", (hostConfig) => {
  it(
    "go on with the results on the same upstream stream, whatever their order",
    proves("openai-sdk", "chat", "tools", "parallel"),
    async () => {
      const { client, trace } = await sharedGateway({ hostConfig });
      const opening: Messages = [{ role: "user", content: PROMPT }];
      const first = await ask(client, opening);
      expect([first.message.content, first.finish]).toEqual(["first", "tool_calls"]);
      expect(first.calls.map(({ id }) => id)).toEqual([
        expect.stringMatching(/^sess_[\w-]{22}__call_0$/),
        expect.stringMatching(/__call_1$/),
      ]);
      const second = await ask(client, [...opening, first.message, ...results(first.calls).reverse()]);
      expect(second.message.content).toBe("saw a saw b stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
      // The next turn goes on from the checkpoint after all this.
      const whole = [...opening, first.message, ...results(first.calls).reverse(), second.message];
      const third = await ask(client, [...whole, { role: "user", content: "@sim say {{reused}}" }]);
      expect(third.message.content).toBe("checkpoint");
    },
  );

  it("go on with instructions that came with the results, and anew without tools that are gone", async () => {
    const { client } = await sharedGateway({ hostConfig });
    const opening: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; say {{result}} {{tools}} {{reused}}' },
    ];
    const told = await ask(client, opening);
    const news = { role: "system", content: "Be kind." } as const;
    const warm = await ask(client, [...opening, told.message, ...results(told.calls), news]);
    expect(warm.message.content).toMatch(/^saw a\s+<system-reminder>\s+Be kind\.\s+<\/system-reminder> look stream$/);
    const again = await ask(client, opening);
    const messages = [...opening, again.message, ...results(again.calls)];
    const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages });
    expect(choices[0]?.message.content).toMatch(/^saw a {2}(?!stream)\w+$/);
  });

  it("a run that died while it waited is replaced, and nobody notices (REL-33)", async () => {
    const { client, trace } = await sharedGateway({ hostConfig });
    const opening: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; fault rst ;; say {{result}} {{reused}}' },
    ];
    const first = await ask(client, opening);
    const second = await ask(client, [...opening, first.message, ...results(first.calls)]);
    expect(second.message.content).toMatch(/^saw a (fresh|checkpoint)$/);
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
  });

  it("ten in a row pay one beginning", proves("openai-sdk", "chat", "rounds"), async () => {
    const { client, trace } = await sharedGateway({ hostConfig });
    const steps = Array.from({ length: 10 }, (_, n) => `call look {"at":"${n}"} ;; wait`);
    const messages: Messages = [{ role: "user", content: `@sim ${steps.join(" ;; ")} ;; say done {{reused}}` }];
    let answer = await ask(client, messages);
    while (answer.calls.length > 0) {
      messages.push(answer.message, ...results(answer.calls));
      answer = await ask(client, messages);
    }
    expect(answer.message.content).toBe("done stream");
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
  });

  it("are told anew where the run is gone: a restart, an edited history, the same request twice", async () => {
    const { open, trace } = await setUpGateway({ hostConfig });
    const gateway = await open();
    const opening: Messages = [{ role: "user", content: PROMPT }];
    const first = await ask(gateway.client, opening);
    const followUp = [...opening, first.message, ...results(first.calls)];
    await gateway.stop();
    await expect.poll(() => trace.some(isGivenUp)).toBe(true);
    const { client } = await open();
    // The turn is resumed from its suspended checkpoint, and makes its calls again.
    expect((await ask(client, followUp)).message.content).toBe("saw a saw b stream");
    const again = await ask(client, opening);
    const edited: Messages = [{ role: "user", content: `${PROMPT} ` }, again.message, ...results(again.calls)];
    expect((await ask(client, edited)).message.content).toBe("saw a saw b fresh");
    const other: Messages = [{ role: "user", content: `${PROMPT}  ` }];
    const third = await ask(client, other);
    const twice = [...other, third.message, ...results(third.calls)];
    const answers = await Promise.all([ask(client, twice), ask(client, twice)]);
    expect(answers.map(({ message }) => message.content).sort()).toEqual(["saw a saw b fresh", "saw a saw b stream"]);
    const opened = trace.filter(({ kind }) => kind === "open").length;
    await expect.poll(() => trace.filter(({ kind }) => kind === "reset" || kind === "end").length).toBe(opened);
  });
});

describe("what a client may ask of tools", () => {
  const named = (name: string): OpenAI.ChatCompletionTool => ({ type: "function", function: { name } });

  it("one call at a time: the model asks for two, the client is asked for one after the other", async () => {
    const { client, trace } = await sharedGateway();
    const messages: Messages = [{ role: "user", content: PROMPT }];
    const asked: string[] = [];
    for (;;) {
      const { choices } = await client.chat.completions.create({
        model: "gpt-5.5",
        messages,
        tools: [look],
        parallel_tool_calls: false,
      });
      const message = choices[0]?.message;
      if (!message?.tool_calls) {
        expect(message?.content).toBe("saw a saw b stream");
        break;
      }
      const calls = message.tool_calls.filter((call) => call.type === "function");
      expect(calls).toHaveLength(1);
      asked.push(...calls.map(({ function: { arguments: args } }) => JSON.parse(args).at));
      messages.push(message, ...results(calls));
    }
    expect(asked).toEqual(["a", "b"]);
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    expect(trace.some(({ kind }) => kind === "violation")).toBe(false);
  });

  it("one tool by name: no other is offered", async () => {
    const { client } = await sharedGateway();
    const { choices } = await client.chat.completions.create({
      model: "gpt-5.5",
      messages: [{ role: "user", content: "@sim say {{tools}} ;; call look {}" }],
      tools: [look, named("jump")],
      tool_choice: { type: "function", function: { name: "look" } },
    });
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: "look" } });
  });

  it.each<[string, Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>, RegExp]>([
    ["no more calls", { tool_choice: "none" }, /^saw a \|.*\|fresh$/],
    ["another model", { model: "claude-opus-4-8" }, /\|claude-opus-4-8.*\|stream$/],
  ])("something else with the results, which the run cannot be told: %s", async (_, change, said) => {
    const { client } = await sharedGateway();
    const script = '@sim call look {"at":"a"} ;; say {{result.0}} {{tools}}|{{model}}|{{reused}}';
    const asked = { model: "gpt-5.5", tools: [look], messages: [{ role: "user", content: script }] as Messages };
    const first = await client.chat.completions.create({ ...asked, tool_choice: "required" });
    const message = first.choices[0]?.message;
    if (!message) throw new Error("no answer");
    const messages = [...asked.messages, message, ...results((message.tool_calls ?? []).filter(isFunction))];
    const { choices } = await client.chat.completions.create({ ...asked, messages, ...change });
    expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: expect.stringMatching(said) } });
  });

  it("a call in any case: a model that twice does not call is an error, and is not asked a third time", async () => {
    const { client, trace } = await sharedGateway();
    const refused = client.chat.completions.create({
      model: "gpt-5.5",
      messages: [{ role: "user", content: "@sim say no" }],
      tools: [look],
      tool_choice: "required",
    });
    await expect(refused).rejects.toMatchObject({ status: 502, code: "tool_not_called" });
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
  });

  it.each([false, true])(
    "a call that the model writes as text is one, and its result is told: streamed %s",
    async (stream) => {
      const { client, trace } = await sharedGateway();
      const messages: Messages = [{ role: "user", content: '@sim say ```json\\n{"at": "a"}\\n```' }];
      const asked = { model: "gpt-5.5", tools: [look], messages };
      const forced = { ...asked, tool_choice: "required" } as const;
      const { completions } = client.chat;
      const answer = stream ? completions.stream(forced).finalChatCompletion() : completions.create(forced);
      const [choice] = (await answer).choices;
      const made: OpenAI.ChatCompletionMessageToolCall[] = choice?.message.tool_calls ?? [];
      const calls = made.filter(isFunction);
      expect(choice?.finish_reason).toBe("tool_calls");
      expect(choice?.message.content || null).toBeNull();
      expect(calls.map(({ function: { name, arguments: args } }) => [name, JSON.parse(args)])).toEqual([
        ["look", { at: "a" }],
      ]);
      expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
      const { choices } = await client.chat.completions.create({
        ...asked,
        messages: [
          ...messages,
          ...(choice ? [choice.message] : []),
          ...results(calls),
          { role: "user", content: "@sim say {{history}}" },
        ],
      });
      expect(choices[0]?.message.content).toContain("saw a");
    },
  );

  it("names that the backend cannot take come back as they were", async () => {
    const { client } = await sharedGateway();
    const tools = ["files.read", "files/read", "x".repeat(64), "Größe"].map(named);
    const create = (content: string) =>
      client.chat.completions.create({ model: "gpt-5.5", messages: [{ role: "user", content }], tools });
    const offered = (await create("@sim say {{tools}}")).choices[0]?.message.content ?? "";
    const wireNames = offered.split(/[\s,]+/);
    expect(wireNames).toHaveLength(tools.length);
    for (const [index, name] of wireNames.entries()) {
      expect(name).toMatch(/^[\w-]{1,50}$/);
      const [call] = (await create(`@sim call ${name} {}`)).choices[0]?.message.tool_calls ?? [];
      expect(call).toMatchObject({
        function: { name: tools[index]?.type === "function" && tools[index].function.name },
      });
    }
  });

  it("five hundred tools, and no more than can be offered", async () => {
    const { client } = await sharedGateway();
    const tools = Array.from({ length: 513 }, (_, n) => named(`tool_${n}`));
    const ask = (offered: typeof tools) =>
      client.chat.completions.create({
        model: "gpt-5.5",
        messages: [{ role: "user", content: '@sim call tool_499 {"x":1}' }],
        tools: offered,
      });
    const [call] = (await ask(tools.slice(0, 500))).choices[0]?.message.tool_calls ?? [];
    expect(call).toMatchObject({ function: { name: "tool_499" } });
    await expect(ask(tools)).rejects.toMatchObject({ status: 400, param: "tools" });
  });

  it("something else after the results: it is told anew, with the results", async () => {
    const { client, trace } = await sharedGateway();
    const opening: Messages = [{ role: "user", content: PROMPT }];
    const first = await ask(client, opening);
    const steered = await ask(client, [
      ...opening,
      first.message,
      ...results(first.calls),
      { role: "user", content: "@sim say {{reused}}: {{history}}" },
    ]);
    expect(steered.message.content).toMatch(/fresh: .*saw a.*saw b/s);
    // The run that waited for nothing else is given up.
    await expect.poll(() => trace.some(isGivenUp)).toBe(true);
  });

  it.each<[string, (calls: OpenAI.ChatCompletionMessageFunctionToolCall[]) => Messages, string]>([
    ["without their call", () => [{ role: "tool", tool_call_id: "none", content: "x" }], "messages[2].tool_call_id"],
    ["two for one call", (calls) => [...results(calls), ...results(calls)], "messages[4].tool_call_id"],
    [
      "that are neither text nor image",
      ([call]) => [{ role: "tool", tool_call_id: call?.id ?? "", content: [{ type: "input_audio" } as never] }],
      "messages[2].content[0].type",
    ],
  ])("results %s are a 400 that names the message", async (_, resultsOf, param) => {
    const { client } = await sharedGateway();
    const opening: Messages = [{ role: "user", content: PROMPT }];
    const first = await ask(client, opening);
    const wrong = ask(client, [...opening, first.message, ...resultsOf(first.calls)]);
    await expect(wrong).rejects.toMatchObject({ status: 400, param });
  });

  it("a result that is missing is told to the model as missing", async () => {
    const { client } = await sharedGateway();
    const opening: Messages = [{ role: "user", content: PROMPT }];
    const first = await ask(client, opening);
    const next = await ask(client, [...opening, first.message, ...results(first.calls.slice(0, 1))]);
    expect(next.message.content).toMatch(/^saw a .*not provided/);
  });
});

describe("native requests of the model", () => {
  const bash: OpenAI.ChatCompletionTool = {
    type: "function",
    function: {
      name: "bash",
      parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
    },
  };

  it("become calls of the client's own tool, and its words the typed result", async () => {
    const { client, trace } = await sharedGateway();
    const prompt =
      '@sim exec shell_stream {"command":"ls"} ;; exec shell {"command":"pwd"} ;; say {{result.0}}{{result.1}}{{reused}}';
    const messages: Messages = [{ role: "user", content: prompt }];
    const first = (await client.chat.completions.create({ model: "gpt-5.5", messages, tools: [bash] })).choices[0]
      ?.message;
    const calls = (first?.tool_calls ?? []).filter((call) => call.type === "function");
    expect(calls.map(({ function: { name, arguments: args } }) => [name, JSON.parse(args)])).toEqual([
      ["bash", { command: "ls" }],
      ["bash", { command: "pwd" }],
    ]);
    const said = ["a.ts\n", "/w\n"].map((content, n) => ({
      role: "tool" as const,
      tool_call_id: calls[n]?.id ?? "",
      content,
    }));
    const whole = [...messages, ...(first ? [first] : []), ...said];
    const second = (await client.chat.completions.create({ model: "gpt-5.5", messages: whole, tools: [bash] }))
      .choices[0];
    expect(second?.message.content).toBe("a.ts\n/w\nstream");
    expect(trace.some(({ kind }) => kind === "violation")).toBe(false);
  });

  it("are turned down where the client has none, with the ones it has", async () => {
    const { client } = await sharedGateway();
    const { message } = await ask(client, [
      { role: "user", content: '@sim exec read {"path":"/etc/passwd"} ;; say {{result}}' },
    ]);
    expect(message.content).toContain("Use one of the provided MCP tools instead: look.");
  });
});

describe("tool loops of real clients", () => {
  it("OpenAI's runTools", proves("openai-sdk", "chat", "tools"), async () => {
    const { client } = await sharedGateway();
    const runner = client.chat.completions.runTools({
      model: "gpt-5.5",
      stream: true,
      messages: [{ role: "user", content: PROMPT }],
      tools: [
        {
          type: "function",
          function: {
            name: "look",
            description: "looks",
            parameters: { type: "object", properties: { at: { type: "string" } } },
            parse: JSON.parse,
            function: ({ at }: { at: string }) => `saw ${at}`,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("saw a saw b stream");
  });

  it("the AI SDK, in several steps with parallel calls", proves("ai-sdk", "chat", "tools", "parallel"), async () => {
    const { url } = await sharedGateway();
    const provider = createOpenAICompatible({ name: "excursor", baseURL: `${url}/v1`, apiKey: KEY });
    const { text } = await generateText({
      model: provider("gpt-5.5"),
      prompt: PROMPT,
      stopWhen: stepCountIs(5),
      tools: { look: tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` }) },
      maxRetries: 0,
    });
    expect(text).toBe("saw a saw b stream");
  });
});
