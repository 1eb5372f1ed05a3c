import { createOpenAI, type OpenAILanguageModelResponsesOptions } from "@ai-sdk/openai";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../../clients/matrix/proof.ts";
import { KEY } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const PROMPT =
  '@sim think hm so ;; say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}';

const look = tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` });

async function setUp() {
  const { url, trace } = await sharedGateway();
  return { model: createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).responses("gpt-5.5"), trace };
}

const asOptions = (openai: OpenAILanguageModelResponsesOptions) => ({ providerOptions: { openai } });

describe("the AI SDK's responses through the gateway", () => {
  it(
    "generates and streams, with reasoning and usage",
    proves("ai-sdk", "responses", "whole", "stream", "thinking", "usage"),
    async () => {
      const { model } = await setUp();
      const { text, usage, finishReason } = await generateText({
        model,
        system: "Be brief.",
        prompt: "@sim usage 9 4 1 ;; say {{system}}",
        maxRetries: 0,
      });
      expect([text, finishReason, usage.inputTokens, usage.outputTokens]).toEqual(["Be brief.", "stop", 9, 4]);
      const stream = streamText({ model, prompt: "@sim think hm so ;; say one two three", maxRetries: 0 });
      expect(await stream.text).toBe("one two three");
      expect(await stream.reasoningText).toBe("hm so");
      expect(await stream.finishReason).toBe("stop");
    },
  );

  it.each([
    ["by reference to kept items", {}],
    ["by sending them again", { store: false, include: ["reasoning.encrypted_content" as const] }],
  ])(
    "takes several steps with parallel calls, %s, on one upstream stream",
    proves("ai-sdk", "responses", "tools", "parallel"),
    async (_, options) => {
      const { model, trace } = await setUp();
      const request = { model, prompt: PROMPT, stopWhen: stepCountIs(5), tools: { look }, maxRetries: 0 };
      const whole = await generateText({ ...request, ...asOptions(options) });
      expect(whole.text).toBe("saw a saw b stream");
      const stream = streamText({ ...request, ...asOptions(options) });
      expect(await stream.text).toBe("saw a saw b stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
    },
  );

  it(
    "gets objects that fit their schema, and errors in the middle of a stream",
    proves("ai-sdk", "responses", "structured", "errors"),
    async () => {
      const { model } = await setUp();
      const schema = z.object({ city: z.string() });
      const { object } = await generateObject({ model, schema, prompt: '@sim say {"city":"Bern"}', maxRetries: 0 });
      expect(object).toEqual({ city: "Bern" });
      const errors: unknown[] = [];
      const stream = streamText({
        model,
        prompt: "@sim say shown ;; fail internal went wrong",
        maxRetries: 0,
        onError: ({ error }) => void errors.push(error),
      });
      let text = "";
      for await (const piece of stream.textStream) text += piece;
      expect(text).toBe("shown");
      expect(JSON.stringify(errors) + String(errors[0])).toContain("went wrong");
    },
  );
});
