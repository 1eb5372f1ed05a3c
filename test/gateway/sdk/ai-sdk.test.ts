import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

describe("the AI SDK through the gateway", () => {
  describe.each(["compatible", "openai", "anthropic"] as const)("as %s", (provider) => {
    // The provider `openai` shows no reasoning in Chat Completions.
    const thinking = provider === "openai" ? [] : (["thinking"] as const);
    const dialect = provider === "anthropic" ? "messages" : "chat";
    it(
      "generates and streams, with reasoning and usage",
      proves("ai-sdk", dialect, "whole", "stream", "usage", ...thinking),
      async () => {
        const { url } = await sharedGateway();
        const baseURL = `${url}/v1`;
        const model = {
          compatible: () =>
            createOpenAICompatible({ name: "excursor", baseURL, apiKey: KEY, includeUsage: true })("gpt-5.5"),
          openai: () => createOpenAI({ baseURL, apiKey: KEY }).chat("gpt-5.5"),
          anthropic: () => createAnthropic({ baseURL, apiKey: KEY })("gpt-5.5"),
        }[provider]();
        const { text, usage, finishReason } = await generateText({
          model,
          system: "Be brief.",
          prompt: "@sim usage 9 4 1 ;; say {{system}}",
          maxRetries: 0,
        });
        expect([text, finishReason, usage.inputTokens, usage.outputTokens]).toEqual(["Be brief.", "stop", 9, 4]);
        const stream = streamText({ model, prompt: "@sim think hm so ;; say one two three", maxRetries: 0 });
        expect(await stream.text).toBe("one two three");
        expect(await stream.finishReason).toBe("stop");
        if (provider !== "openai") expect(await stream.reasoningText).toBe("hm so");
      },
    );
  });

  it("gets objects that fit their schema", proves("ai-sdk", "chat", "structured"), async () => {
    const { url } = await sharedGateway();
    const provider = createOpenAICompatible({
      name: "excursor",
      baseURL: `${url}/v1`,
      apiKey: KEY,
      supportsStructuredOutputs: true,
    });
    const schema = z.object({ city: z.string() });
    const { object } = await generateObject({
      model: provider("gpt-5.5"),
      schema,
      prompt: '@sim say {"city":"Bern"}',
      maxRetries: 0,
    });
    expect(object).toEqual({ city: "Bern" });
  });

  it(
    "Anthropic's dialect: objects, and several steps of calls that bring the thinking back",
    proves("ai-sdk", "messages", "structured", "tools", "parallel", "rounds"),
    async () => {
      const { url, trace } = await sharedGateway();
      const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: KEY })("claude-sonnet-5");
      const { object } = await generateObject({
        model,
        schema: z.object({ city: z.string() }),
        prompt: '@sim call json {"city":"Bern"} ;; say {"city":"Bern"}',
        maxRetries: 0,
      });
      expect(object).toEqual({ city: "Bern" });
      trace.length = 0;
      const { text } = await generateText({
        model,
        prompt:
          '@sim think hm ;; call look {"at":"a"} ;; call look {"at":"b"} ;; wait ;; call look {"at":"c"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
        stopWhen: stepCountIs(5),
        tools: { look: tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` }) },
        maxRetries: 0,
      });
      expect(text).toBe("saw a saw b saw c stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );
});

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A provider for each dialect, as its documentation has it. */
const PROVIDERS = {
  chat: (url: string) => createOpenAICompatible({ name: "excursor", baseURL: `${url}/v1`, apiKey: KEY })("gpt-5.5"),
  responses: (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).responses("gpt-5.5"),
  messages: (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: KEY })("claude-sonnet-5"),
  gemini: (url: string) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: KEY })("gpt-5.5"),
} as const;

describe.each(Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[])("the AI SDK in the dialect %s", (dialect) => {
  it("shows the model an image", proves("ai-sdk", dialect, "images"), async () => {
    const { url } = await sharedGateway();
    const { text } = await generateText({
      model: PROVIDERS[dialect](url),
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "@sim say {{images}}" },
            { type: "file", data: PNG, mediaType: "image/png" },
          ],
        },
      ],
      maxRetries: 0,
    });
    expect(text).toBe("1 image/png:70");
  });

  it("calls tools round after round on one run", proves("ai-sdk", dialect, "tools", "rounds"), async () => {
    const { url, trace } = await sharedGateway();
    const rounds = ["a", "b", "c", "d"].map((at) => `call look {"at":"${at}"} ;; wait`);
    const { text, steps } = await generateText({
      model: PROVIDERS[dialect](url),
      prompt: `@sim ${rounds.join(" ;; ")} ;; say {{result.3}} {{reused}}`,
      stopWhen: stepCountIs(9),
      tools: { look: tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` }) },
      maxRetries: 0,
    });
    expect([text, steps.length]).toEqual(["saw d stream", 5]);
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
  });

  it("takes its question back when it is aborted", proves("ai-sdk", dialect, "abort"), async () => {
    const { url, trace } = await sharedGateway();
    const abort = new AbortController();
    const { textStream } = streamText({
      model: PROVIDERS[dialect](url),
      prompt: "@sim say a ;; silent 60000",
      abortSignal: abort.signal,
      maxRetries: 0,
    });
    for await (const piece of textStream) if (piece !== "") abort.abort();
    await expect.poll(() => trace.some(isGivenUp), { timeout: 5000 }).toBe(true);
  });

  it("gets errors before and within an answer", proves("ai-sdk", dialect, "errors"), async () => {
    const { url } = await sharedGateway();
    const limited = generateText({
      model: PROVIDERS[dialect](url),
      prompt: "@sim fail resource_exhausted ERROR_RATE_LIMITED You are too quick",
      maxRetries: 0,
    });
    await expect(limited).rejects.toMatchObject({ statusCode: 429, message: expect.stringContaining("too quick") });
    const errors: unknown[] = [];
    const stream = streamText({
      model: PROVIDERS[dialect](url),
      prompt: "@sim say shown ;; fail internal went wrong",
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    expect(text).toBe("shown");
    expect(JSON.stringify(errors) + String(errors[0])).toContain("went wrong");
  });
});
