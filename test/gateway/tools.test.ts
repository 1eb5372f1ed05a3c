import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { KEY, setUpGateway } from "./support/gateway-process.ts";

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

/** One request of a conversation, with what it answers appended. */
async function ask(client: OpenAI, messages: Messages) {
  const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages, tools: [look] });
  const message = choices[0]?.message;
  if (!message) throw new Error("no answer");
  const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
  return { message, calls, finish: choices[0]?.finish_reason };
}

const results = (calls: readonly { id: string; function: { arguments: string } }[]): Messages =>
  calls.map(({ id, function: { arguments: args } }) => ({
    role: "tool",
    tool_call_id: id,
    content: `saw ${JSON.parse(args).at}`,
  }));

describe.each(["h2", "h1"] as const)("tool calls over %s", (hostConfig) => {
  it("go on with the results on the same upstream stream, whatever their order", async () => {
    const { start, trace } = await setUpGateway({ hostConfig });
    const { client } = await start();
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
  });

  it("a run that died while it waited is replaced, and nobody notices (REL-33)", async () => {
    const { start, trace } = await setUpGateway({ hostConfig });
    const { client } = await start();
    const opening: Messages = [
      { role: "user", content: '@sim call look {"at":"a"} ;; fault rst ;; say {{result}} {{reused}}' },
    ];
    const first = await ask(client, opening);
    const second = await ask(client, [...opening, first.message, ...results(first.calls)]);
    expect(second.message.content).toMatch(/^saw a (fresh|checkpoint)$/);
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
  });

  it("ten in a row pay one beginning", async () => {
    const { start, trace } = await setUpGateway({ hostConfig });
    const { client } = await start();
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

  it("are told anew where the run is gone: a restart, an edited history, another key, the same request twice", async () => {
    const { start, trace } = await setUpGateway({ hostConfig });
    const gateway = await start();
    const opening: Messages = [{ role: "user", content: PROMPT }];
    const first = await ask(gateway.client, opening);
    const followUp = [...opening, first.message, ...results(first.calls)];
    await gateway.stop();
    await expect.poll(() => trace.some(({ kind }) => kind === "reset")).toBe(true);
    const { client } = await start();
    expect((await ask(client, followUp)).message.content).toBe("saw a saw b fresh");
    const again = await ask(client, opening);
    const edited: Messages = [{ role: "user", content: `${PROMPT} ` }, again.message, ...results(again.calls)];
    expect((await ask(client, edited)).message.content).toBe("saw a saw b fresh");
    const third = await ask(client, opening);
    const twice = [...opening, third.message, ...results(third.calls)];
    const answers = await Promise.all([ask(client, twice), ask(client, twice)]);
    expect(answers.map(({ message }) => message.content).sort()).toEqual(["saw a saw b fresh", "saw a saw b stream"]);
    const open = trace.filter(({ kind }) => kind === "open").length;
    await expect.poll(() => trace.filter(({ kind }) => kind === "reset" || kind === "end").length).toBe(open);
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
    const { start, trace } = await setUpGateway();
    const { client } = await start();
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
    const { start } = await setUpGateway();
    const { client } = await start();
    const { message } = await ask(client, [
      { role: "user", content: '@sim exec read {"path":"/etc/passwd"} ;; say {{result}}' },
    ]);
    expect(message.content).toContain("Use one of the provided MCP tools instead: look.");
  });
});

describe("tool loops of real clients", () => {
  it("OpenAI's runTools", async () => {
    const { start } = await setUpGateway();
    const { client } = await start();
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

  it("the AI SDK, in several steps with parallel calls", async () => {
    const { start } = await setUpGateway();
    const { url } = await start();
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
