import Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { KEY } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { answersTo, callsOf, converse, type Messages, TOOLS } from "../support/tool-client.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const runsIn = (trace: readonly TraceEntry[]): number => trace.filter(({ kind }) => kind === "run_request").length;

/** The results that the backend got on its streams. */
const resultsIn = (trace: readonly TraceEntry[]): object[] =>
  trace.flatMap(({ kind, message }) => {
    if (kind !== "exec_client_message") return [];
    const { execClientMessage: exec } = message as { execClientMessage: { mcpResult?: { success?: object } } };
    return exec.mcpResult?.success ? [exec.mcpResult.success] : [];
  });

/** The first answer of a conversation, and the follow-up that a client makes of it. */
async function callOnce(
  client: OpenAI,
  prompt: string,
): Promise<{ opening: Messages; answer: OpenAI.ChatCompletionMessage }> {
  const opening: Messages = [{ role: "user", content: prompt }];
  const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages: opening, tools: TOOLS });
  const answer = choices[0]?.message;
  if (!answer) throw new Error("no answer");
  return { opening, answer };
}

describe.each(["h2", "h1"] as const)("many windows over %s", (hostConfig) => {
  it("fifty conversations with tools, side by side, each on one stream of its own, never cross (SEC-30)", async () => {
    const { client, trace } = await sharedGateway({ hostConfig });
    const conversations = Array.from({ length: 50 }, async (_, n) => {
      const call = (name: string) => `call look {"at":"w${n}${name}"}`;
      const content = `@sim ${call("a")} ;; ${call("b")} ;; say mid ;; ${call("c")} ;; wait ;; ${call("d")} ;; ${call("e")} ;; say {{history}} {{result.0}} {{result.1}} {{result.2}} {{result.3}} {{result.4}} {{reused}}`;
      const { said } = await converse(client, [{ role: "user", content }]);
      const seen = ["a", "b", "c", "d", "e"].map((name) => `saw w${n}${name}`).join(" ");
      expect(said.at(-1)?.trim()).toBe(`${seen} stream`);
    });
    await Promise.all(conversations);
    expect(runsIn(trace)).toBe(50);
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  }, 60_000);
});

describe("a follow-up", () => {
  it("sent again while the first is still being answered is told anew; the first goes on undisturbed (REL-40)", async () => {
    const { client, trace } = await sharedGateway();
    const { opening, answer } = await callOnce(
      client,
      '@sim call look {"at":"a"} ;; say {{result}} {{reused}} ;; tokens 20 20',
    );
    const messages = [...opening, answer, ...answersTo(answer)];
    const first = client.chat.completions.stream({ model: "gpt-5.5", messages, tools: TOOLS });
    await new Promise<void>((resolve) => first.once("content", () => resolve()));
    const second = await client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
    expect(second.choices[0]?.message.content).toMatch(/^saw a fresht0 t1 .*t19 ?$/);
    expect(await first.finalContent()).toMatch(/^saw a streamt0 t1 .*t19 ?$/);
    expect(runsIn(trace)).toBe(2);
    expect(resultsIn(trace)).toHaveLength(1);
  });

  it("sent five times at once feeds the run once, and every one is answered (REL-40)", async () => {
    const { client, trace } = await sharedGateway();
    const { opening, answer } = await callOnce(client, '@sim call look {"at":"a"} ;; say {{result}} {{reused}}');
    const messages = [...opening, answer, ...answersTo(answer)];
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS })),
    );
    const said = answers.map(({ choices }) => choices[0]?.message.content).sort();
    expect(said).toEqual([...Array(4).fill("saw a fresh"), "saw a stream"]);
    expect(resultsIn(trace)).toHaveLength(1);
  });

  it("brings images in results to the run that asked", async () => {
    const { client, trace } = await sharedGateway();
    const { opening, answer } = await callOnce(client, '@sim call look {"at":"a"} ;; say {{result}} {{reused}}');
    const [call] = callsOf(answer);
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } };
    const result = { role: "tool", tool_call_id: call?.id, content: [{ type: "text", text: "a dot" }, image] };
    const messages = [...opening, answer, result] as Messages;
    const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
    expect(choices[0]?.message.content).toMatch(/a dot[\s\S]*stream$/);
    expect(JSON.stringify(resultsIn(trace))).toContain(PIXEL);
  });

  it("brings failures of tools as failures", async () => {
    const { url, trace } = await sharedGateway();
    const anthropic = new Anthropic({ baseURL: url, apiKey: KEY, maxRetries: 0 });
    const question = {
      model: "gpt-5.5",
      max_tokens: 1000,
      tools: [{ name: "look", input_schema: { type: "object" as const } }],
    };
    const opening: Anthropic.MessageParam[] = [
      { role: "user", content: "@sim call look {} ;; say {{result}} {{reused}}" },
    ];
    const first = await anthropic.messages.create({ ...question, messages: opening });
    const call = first.content.find((block) => block.type === "tool_use");
    const second = await anthropic.messages.create({
      ...question,
      messages: [
        ...opening,
        { role: "assistant", content: first.content },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "it is dark", is_error: true }],
        },
      ],
    });
    expect(second.content).toMatchObject([{ type: "text", text: "it is dark stream" }]);
    expect(resultsIn(trace)).toMatchObject([{ isError: true }]);
  });
});
