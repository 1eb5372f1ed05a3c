import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../clients/matrix/proof.ts";
import { KEY } from "./support/gateway-process.ts";
import { sharedGateway } from "./support/shared-gateway.ts";

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
