import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, streamText } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { KEY, setUpGateway } from "./support/gateway-process.ts";

describe("the AI SDK through the gateway", () => {
  it.each(["compatible", "openai"] as const)(
    "generates and streams, with reasoning and usage: %s",
    async (provider) => {
      const { start } = await setUpGateway();
      const { url } = await start();
      const baseURL = `${url}/v1`;
      const model =
        provider === "compatible"
          ? createOpenAICompatible({ name: "excursor", baseURL, apiKey: KEY, includeUsage: true })("gpt-5.5")
          : createOpenAI({ baseURL, apiKey: KEY }).chat("gpt-5.5");
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
      if (provider === "compatible") expect(await stream.reasoningText).toBe("hm so");
    },
  );

  it("gets objects that fit their schema", async () => {
    const { start } = await setUpGateway();
    const { url } = await start();
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
});
