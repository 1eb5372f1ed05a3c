import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { type Content, type FunctionDeclaration, GoogleGenAI, Type } from "@google/genai";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const model = "gpt-5.5";
const LOOK: FunctionDeclaration = {
  name: "look",
  description: "looks",
  parameters: { type: Type.OBJECT, properties: { at: { type: Type.STRING, nullable: true } }, required: ["at"] },
};
const TASK =
  '@sim think hm ;; say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; wait ;; call look {"at":"c"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}';

async function setUp(...flags: string[]) {
  const gateway = await sharedGateway({}, ...flags);
  return { ...gateway, client: new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.url } }) };
}

describe("Google's own client through the gateway", () => {
  it(
    "generates, with instructions, images, thoughts and usage",
    proves("google-sdk", "gemini", "whole", "images", "thinking", "usage"),
    async () => {
      const { client } = await setUp();
      const answer = await client.models.generateContent({
        model,
        contents: [
          { text: "@sim usage 9 4 1 ;; think hm ;; say {{system}} {{images}}" },
          { inlineData: { mimeType: "image/png", data: PNG } },
        ],
        config: { systemInstruction: "Be brief.", thinkingConfig: { includeThoughts: true }, temperature: 0 },
      });
      expect(answer.text).toBe("Be brief. 1 image/png:70");
      expect(answer.candidates?.[0]?.content?.parts?.[0]).toMatchObject({ text: "hm", thought: true });
      expect(answer.usageMetadata).toMatchObject({
        promptTokenCount: 9,
        totalTokenCount: 13,
        cachedContentTokenCount: 1,
      });
      const quiet = await client.models.generateContent({ model, contents: "@sim think hm ;; say so" });
      expect(quiet.candidates?.[0]?.content?.parts).toEqual([{ text: "so" }]);
    },
  );

  it("streams, and stops when it is aborted", proves("google-sdk", "gemini", "stream", "abort"), async () => {
    const { client, trace } = await setUp();
    let text = "";
    for await (const chunk of await client.models.generateContentStream({ model, contents: "@sim say a b c" })) {
      text += chunk.text ?? "";
    }
    expect(text).toBe("a b c");
    const abort = new AbortController();
    const endless = await client.models.generateContentStream({
      model,
      contents: "@sim say a ;; silent 60000",
      config: { abortSignal: abort.signal },
    });
    const reading = (async () => {
      for await (const _ of endless) abort.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    await expect.poll(() => trace.filter(isGivenUp).length, { timeout: 5000 }).toBe(1);
  });

  it.each([true, false])(
    "calls functions over several turns, also at once (ids kept: %s)",
    proves("google-sdk", "gemini", "tools", "parallel", "rounds"),
    async (keepsIds) => {
      const { client, trace } = await setUp();
      const contents: Content[] = [{ role: "user", parts: [{ text: TASK }] }];
      const config = { tools: [{ functionDeclarations: [LOOK] }], thinkingConfig: { includeThoughts: true } };
      let answer = await client.models.generateContent({ model, contents, config });
      expect(answer.functionCalls).toHaveLength(2);
      while (answer.functionCalls?.length) {
        const said = answer.candidates?.[0]?.content ?? {};
        if (!keepsIds) for (const { functionCall } of said.parts ?? []) delete functionCall?.id;
        const parts = answer.functionCalls.map(({ id = "", name = "", args }) => ({
          functionResponse: { ...(keepsIds && { id }), name, response: { output: `saw ${args?.["at"]}` } },
        }));
        contents.push(said, { role: "user", parts });
        answer = await client.models.generateContent({ model, contents, config });
      }
      expect(answer.text).toBe("saw a saw b saw c stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );

  it("its chat goes on from where it was, also after a stream with thoughts", async () => {
    const { client } = await setUp();
    const chat = client.chats.create({ model, config: { thinkingConfig: { includeThoughts: true } } });
    for await (const _ of await chat.sendMessageStream({ message: "@sim think hm well ;; say hello there" }));
    expect((await chat.sendMessage({ message: "@sim say {{history}} {{reused}}" })).text).toBe(
      "user: @sim think hm well ;; say hello there\nassistant: hello there checkpoint",
    );
  });

  it("gets JSON that fits a schema in Google's form", proves("google-sdk", "gemini", "structured"), async () => {
    const { client } = await setUp();
    const responseSchema = {
      type: Type.OBJECT,
      properties: { city: { type: Type.STRING }, size: { type: Type.INTEGER, nullable: true } },
      propertyOrdering: ["city", "size"],
      required: ["city"],
    };
    const config = { responseMimeType: "application/json", responseSchema };
    const answer = await client.models.generateContent({
      model,
      contents: '@sim say {"city":"Bern","size":null}',
      config,
    });
    expect(JSON.parse(answer.text ?? "")).toEqual({ city: "Bern", size: null });
    const wrong = client.models.generateContent({ model, contents: '@sim say {"city":5}', config });
    await expect(wrong).rejects.toMatchObject({ status: 502 });
  });

  it("lists models by pages, finds one, and counts tokens", async () => {
    const { client } = await setUp();
    const names: string[] = [];
    const pager = await client.models.list({ config: { pageSize: 2 } });
    expect(pager.page).toHaveLength(2);
    for await (const { name } of pager) names.push(name ?? "");
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain(`models/${model}`);
    expect(await client.models.get({ model })).toMatchObject({ name: `models/${model}`, inputTokenLimit: 272_000 });
    expect((await client.models.countTokens({ model, contents: "a".repeat(400) })).totalTokens).toBeGreaterThan(99);
  });

  it("is told of errors, before the answer and within it", proves("google-sdk", "gemini", "errors"), async () => {
    const { client, url } = await setUp();
    await expect(client.models.generateContent({ model: "gpt-5.6", contents: "hi" })).rejects.toMatchObject({
      status: 404,
    });
    const broken = await client.models.generateContentStream({
      model,
      contents: "@sim say a ;; fail internal went wrong",
    });
    const read = async () => {
      for await (const _ of broken);
    };
    await expect(read()).rejects.toThrow(/went wrong/);
    const stranger = new GoogleGenAI({ apiKey: "wrong", httpOptions: { baseUrl: url } });
    await expect(stranger.models.generateContent({ model, contents: "hi" })).rejects.toMatchObject({ status: 401 });
  });
});

describe("the AI SDK's Google provider through the gateway", () => {
  const providerOptions = { google: { thinkingConfig: { includeThoughts: true } } };

  it(
    "generates and streams, with reasoning and usage",
    proves("ai-sdk", "gemini", "whole", "stream", "thinking", "usage"),
    async () => {
      const { url } = await setUp();
      const google = createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: KEY })(model);
      const { text, usage, finishReason } = await generateText({
        model: google,
        system: "Be brief.",
        prompt: "@sim usage 9 4 1 ;; say {{system}}",
        maxRetries: 0,
      });
      expect([text, finishReason, usage.inputTokens, usage.outputTokens]).toEqual(["Be brief.", "stop", 9, 4]);
      const stream = streamText({
        model: google,
        prompt: "@sim think hm so ;; say one two three",
        maxRetries: 0,
        providerOptions,
      });
      expect([await stream.text, await stream.finishReason, await stream.reasoningText]).toEqual([
        "one two three",
        "stop",
        "hm so",
      ]);
    },
  );

  it(
    "gets objects, and several steps of calls on one run",
    proves("ai-sdk", "gemini", "structured", "tools", "parallel", "rounds"),
    async () => {
      const { url, trace } = await setUp();
      const google = createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: KEY })(model);
      const { object } = await generateObject({
        model: google,
        schema: z.object({ city: z.string() }),
        prompt: '@sim say {"city":"Bern"}',
        maxRetries: 0,
      });
      expect(object).toEqual({ city: "Bern" });
      trace.length = 0;
      const ask = {
        model: google,
        prompt: TASK,
        stopWhen: stepCountIs(5),
        tools: { look: tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` }) },
        maxRetries: 0,
        providerOptions,
      };
      expect((await generateText(ask)).text).toBe("saw a saw b saw c stream");
      expect(await streamText(ask).text).toBe("saw a saw b saw c stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
    },
  );
});

describe("Gemini over plain HTTP", () => {
  it("takes a key from the query, and logs it nowhere", async () => {
    const { url, log } = await setUp("--log-level", "trace");
    const ask = (path: string, body: object) =>
      fetch(`${url}/v1beta/models/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const contents = [{ parts: [{ text: "@sim say {{system}}" }] }];
    const body = { contents, system_instruction: { parts: [{ text: "snake case" }] } };
    const answer = await ask(`${model}:generateContent?key=${KEY}`, body);
    expect(await answer.json()).toMatchObject({ candidates: [{ content: { parts: [{ text: "snake case" }] } }] });
    expect((await ask(`${model}:generateContent?key=not-the-right-key`, body)).status).toBe(401);
    expect((await ask(`${model}:noSuchMethod?key=${KEY}`, body)).status).toBe(405);
    await expect.poll(() => log().match(/"request"/g)?.length).toBeGreaterThanOrEqual(3);
    expect(log()).not.toContain(KEY);
    expect(log()).not.toContain("not-the-right-key");
  });

  it("streams as a JSON array without alt=sse, errors included", async () => {
    const { url } = await setUp();
    const ask = async (text: string) => {
      const response = await fetch(`${url}/v1beta/models/${model}:streamGenerateContent`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-goog-api-key": KEY },
        body: JSON.stringify({ contents: [{ role: "user", parts: [{ text }] }] }),
      });
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      return (await response.json()) as { candidates?: { content: Content }[]; error?: object }[];
    };
    const chunks = await ask("@sim say a b c");
    const texts = chunks.map(({ candidates }) => candidates?.[0]?.content.parts?.[0]?.text);
    expect(texts.join("")).toBe("a b c");
    expect((await ask("@sim say a ;; fail internal went wrong")).at(-1)).toMatchObject({
      error: { status: "INTERNAL", message: expect.stringContaining("went wrong") },
    });
  });
});
