import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY, setUpGateway } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** The smallest there is: one pixel. */
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ask = (content: string) => ({ model: "gpt-5.5", messages: [{ role: "user" as const, content }] });

describe.each(["h2", "h1"] as const)("OpenAI's own client through the gateway, backend over %s", (hostConfig) => {
  it(
    "creates: what the backend received is what the client sent",
    proves("openai-sdk", "chat", "whole", "images", "usage"),
    async () => {
      const { client } = await sharedGateway({ hostConfig });
      const { choices, usage, model } = await client.chat.completions.create({
        model: "gpt-5.5",
        reasoning_effort: "high",
        messages: [
          { role: "developer", content: "Be brief." },
          { role: "user", content: "first" },
          { role: "assistant", content: "answer" },
          {
            role: "user",
            content: [
              { type: "text", text: "@sim usage 100 20 5 ;; say {{system}}|{{history}}|{{images}}|{{model}}" },
              { type: "image_url", image_url: { url: PNG } },
            ],
          },
        ],
      });
      expect(choices[0]?.message.content?.split("|")).toEqual([
        "Be brief.",
        "user: first\nassistant: answer",
        "1 image/png:70",
        expect.stringMatching(/^gpt-5\.5(-high| .*=high)/),
      ]);
      expect(choices[0]?.finish_reason).toBe("stop");
      expect(usage).toMatchObject({
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 5 },
      });
      expect(model).toBe("gpt-5.5");
    },
  );

  it(
    "streams as the tokens arrive: text, thinking, usage",
    proves("openai-sdk", "chat", "stream", "thinking", "usage"),
    async () => {
      const { client } = await sharedGateway({ hostConfig });
      const stream = client.chat.completions.stream({
        ...ask("@sim think let me see ;; say hello wide world"),
        stream_options: { include_usage: true },
      });
      const reasoning: string[] = [];
      stream.on("chunk", ({ choices }) => {
        const delta = choices[0]?.delta as { reasoning_content?: string } | undefined;
        if (delta?.reasoning_content) reasoning.push(delta.reasoning_content);
      });
      const { choices, usage } = await stream.finalChatCompletion();
      expect(choices[0]?.message.content).toBe("hello wide world");
      expect(reasoning.join("")).toBe("let me see");
      expect(usage?.completion_tokens).toBeGreaterThan(0);
    },
  );

  it("goes on with the conversation after a restart, another model or a fork, and never meets a stale checkpoint", async () => {
    const { open } = await setUpGateway({ hostConfig });
    const first = await open();
    const opening = ask("@sim say hello").messages;
    const answer = await first.client.chat.completions.create({ model: "gpt-5.5", messages: opening });
    expect(answer.choices[0]?.message.content).toBe("hello");
    await first.stop();
    const second = await open();
    const say = async (assistant: string, model = "gpt-5.5") => {
      const messages = [
        ...opening,
        { role: "assistant" as const, content: assistant },
        { role: "user" as const, content: "@sim say {{reused}} {{history}}" },
      ];
      return (await second.client.chat.completions.create({ model, messages })).choices[0]?.message.content;
    };
    const history = "user: @sim say hello\nassistant: hello";
    expect(await say("hello")).toBe(`checkpoint ${history}`);
    expect(await say("hello", "claude-sonnet-5")).toBe(`checkpoint ${history}`);
    expect(await say("hello")).toBe(`checkpoint ${history}`);
    expect(await say("edited")).toBe("fresh user: @sim say hello\nassistant: edited");
  });

  it(
    "an abort reaches the backend, while streaming, before the first token and without a stream",
    proves("openai-sdk", "chat", "abort"),
    async () => {
      const { client, trace } = await sharedGateway({ hostConfig });
      const givenUp = () => trace.filter(isGivenUp).length;
      const stream = await client.chat.completions.create({ ...ask("@sim say a ;; silent 60000"), stream: true });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
      await expect.poll(givenUp, { timeout: 5000 }).toBe(1);
      for (const isStream of [true, false]) {
        const abort = new AbortController();
        const asked = () => trace.filter(({ kind }) => kind === "run_request").length;
        const before = asked();
        const request = client.chat.completions.create(
          { ...ask("@sim silent 60000"), stream: isStream },
          { signal: abort.signal },
        );
        await expect.poll(asked).toBe(before + 1);
        await expect.poll(() => trace.filter(({ kind }) => kind === "open").length - givenUp()).toBe(1);
        abort.abort();
        await expect(request).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
        await expect
          .poll(() => trace.filter(({ kind }) => kind === "open").length - givenUp(), { timeout: 5000 })
          .toBe(0);
      }
    },
  );

  it(
    "an upstream failure in the middle is the dialect's error, and no sign of success follows",
    proves("openai-sdk", "chat", "errors"),
    async () => {
      const { client, url } = await sharedGateway({ hostConfig });
      const stream = await client.chat.completions.create({
        ...ask("@sim say shown ;; fail internal went wrong"),
        stream: true,
      });
      let text = "";
      await expect(async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      }).rejects.toMatchObject({ message: expect.stringContaining("went wrong") });
      expect(text).toBe("shown");
      const raw = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ ...ask("@sim say shown ;; fail internal went wrong"), stream: true }),
      });
      const body = await raw.text();
      expect(body).toContain('"error"');
      expect(body).not.toContain("[DONE]");
      expect(body).not.toContain('"finish_reason":"stop"');
    },
  );

  it("a stream that drops is resumed from its checkpoint, unseen", async () => {
    const { client } = await sharedGateway({ hostConfig });
    const { choices } = await client.chat.completions.create(ask("@sim say one ;; fault rst ;; say two"));
    expect(choices[0]?.message.content).toBe("onetwo");
  });
});

describe("what the gateway keeps for itself", () => {
  it("stop, max_tokens and JSON", proves("openai-sdk", "chat", "structured"), async () => {
    const { client, trace } = await sharedGateway();
    const stopped = await client.chat.completions.create({
      ...ask("@sim say one two three four ;; silent 60000"),
      stop: "three",
    });
    expect([stopped.choices[0]?.message.content, stopped.choices[0]?.finish_reason]).toEqual(["one two ", "stop"]);
    await expect.poll(() => trace.some(isGivenUp)).toBe(true);
    const short = await client.chat.completions.create({
      ...ask("@sim tokens 500 0 ;; silent 60000"),
      max_completion_tokens: 10,
    });
    expect(short.choices[0]?.finish_reason).toBe("length");
    const schema = zodResponseFormat(z.object({ answer: z.number() }), "answer");
    const parsed = await client.chat.completions.parse({ ...ask('@sim say {"answer": 42}'), response_format: schema });
    expect(parsed.choices[0]?.message.parsed).toEqual({ answer: 42 });
    const never = client.chat.completions.create({ ...ask("@sim say not json at all"), response_format: schema });
    await expect(never).rejects.toMatchObject({ code: "invalid_json_output" });
  });

  it("says which parameters it cannot honour, and refuses what would be a lie", async () => {
    const { client } = await sharedGateway();
    const { response } = await client.chat.completions
      .create({ ...ask("@sim say hi"), temperature: 0.2, seed: 7 })
      .withResponse();
    expect(response.headers.get("x-excursor-ignored")).toMatch(/temperature.*seed|seed.*temperature/);
    await expect(client.chat.completions.create({ ...ask("hi"), n: 2 })).rejects.toMatchObject({
      status: 400,
      param: "n",
    });
    await expect(client.chat.completions.create({ ...ask("hi"), logprobs: true })).rejects.toMatchObject({
      status: 400,
      param: "logprobs",
    });
  });

  it("lists a row a base model with its window; an unknown one is a 404 that names what is close", async () => {
    const { client } = await sharedGateway();
    const { data } = await client.models.list();
    const ids = data.map(({ id }) => id);
    expect(ids).toContain("auto");
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeLessThan(15);
    expect(await client.models.retrieve("gpt-5.4-mini")).toMatchObject({ id: "gpt-5.4-mini", context_length: 32_000 });
    await expect(client.models.retrieve("gpt-9")).rejects.toMatchObject({ status: 404 });
    // Any name that a request may have.
    for (const id of ["claude-opus-4-8-thinking-low", "opus-high", "claude-sonnet-5[effort=low]", "auto:hub"]) {
      expect(await client.models.retrieve(id)).toMatchObject({ id, object: "model" });
    }
    expect(await client.models.retrieve("opus[1m]")).toMatchObject({ context_length: 1_000_000 });
    await expect(client.chat.completions.create({ ...ask("hi"), model: "gpt-5.6" })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      message: expect.stringContaining("gpt-5.5"),
    });
  });

  it("refuses a conversation that is too long before anything is sent, or trims it where told so", async () => {
    const { open, trace } = await setUpGateway();
    const messages = [
      { role: "user" as const, content: "x".repeat(150_000) },
      { role: "assistant" as const, content: "y" },
      { role: "user" as const, content: "@sim say {{history}}." },
    ];
    const refusing = await open();
    await expect(refusing.client.chat.completions.create({ model: "gpt-5.4-mini", messages })).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
    expect(trace.some(({ kind }) => kind === "run_request")).toBe(false);
    const trimming = await open("--context", "trim");
    for (const stream of [false, true]) {
      const { response } = await trimming.client.chat.completions
        .create({ model: "gpt-5.4-mini", messages, stream })
        .withResponse();
      expect(response.headers.get("x-excursor-trimmed")).toBe("messages=2");
    }
    const { data, response } = await trimming.client.chat.completions
      .create({ model: "gpt-5.4-mini", messages: messages.slice(-1) })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe(".");
    expect(response.headers.has("x-excursor-trimmed")).toBe(false);
  });

  it("keeps a call of a turn that was left out, with its result, where a later message refers to it", async () => {
    const { open } = await setUpGateway();
    const { client } = await open("--context", "trim");
    const call = { id: "call_abcdef", type: "function" as const, function: { name: "look", arguments: "{}" } };
    const { data, response } = await client.chat.completions
      .create({
        model: "gpt-5.4-mini",
        messages: [
          { role: "user", content: "x".repeat(2_000_000) },
          { role: "assistant", content: "I look.", tool_calls: [call] },
          { role: "tool", tool_call_id: "call_abcdef", content: "what was seen" },
          { role: "assistant", content: "Done." },
          { role: "user", content: "@sim say {{history}} ;; say (call_abcdef)" },
        ],
      })
      .withResponse();
    expect(response.headers.get("x-excursor-trimmed")).toBe("messages=2");
    expect(data.choices[0]?.message.content).toContain("what was seen");
    expect(data.choices[0]?.message.content).not.toContain("I look.");
  });

  it("takes a Cursor token as the API key: then it is that account that asks", async () => {
    const { url } = await sharedGateway();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const jwt = `${part({ alg: "none" })}.${part({ sub: "auth0|user_9", exp: 4_000_000_000 })}.${"s".repeat(43)}`;
    for (const apiKey of [jwt, `user_9::${jwt}`, `user_9%3A%3A${jwt}`]) {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
      expect((await client.chat.completions.create(ask("@sim say {{user}}"))).choices[0]?.message.content).toBe(
        "auth0|user_9",
      );
    }
    const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong-key", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 });
  });

  it.each(["cursor", "cursor-legacy"])(
    "says of a Cursor token that came as the API key that it has expired: %s",
    async (driver) => {
      const { open } = await setUpGateway({ legacy: "on" });
      const { url } = await open("--driver", driver);
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const claims = { sub: "auth0|user_9", exp: 1_600_000_000 };
      const apiKey = `${part({ alg: "none" })}.${part(claims)}.${"s".repeat(43)}`;
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
      await expect(client.chat.completions.create(ask("@sim say hello"))).rejects.toMatchObject({
        status: 401,
        code: "token_expired",
        message: expect.stringMatching(
          /has expired\. Send a valid Cursor token as the API key, or a key of this gateway\.$/,
        ),
      });
    },
  );

  it(
    "each failure of the backend has its status, and the client's own retries work",
    proves("openai-sdk", "chat", "errors"),
    async () => {
      const { client, url } = await sharedGateway();
      const table = [
        ["fail unauthenticated ERROR_NOT_LOGGED_IN", 401],
        ["fail unavailable", 503],
        ["fail resource_exhausted ERROR_USAGE_PRICING_REQUIRED", 402],
        ["fail permission_denied ERROR_MODEL_BLOCKED", 403],
        ["fail permission_denied ERROR_OUTDATED_CLIENT", 426],
        ["fail not_found ERROR_MODEL_NO_LONGER_SUPPORTED", 404],
        ["fail invalid_argument ERROR_CONVERSATION_TOO_LONG", 400],
        ["fail internal ERROR_PROVIDER_ERROR", 502],
        ["fail internal ERROR_INTERNAL", 500],
        ["fail deadline_exceeded", 504],
        ["fail http=429", 429],
      ] as const;
      for (const [step, status] of table) {
        await expect(client.chat.completions.create(ask(`@sim ${step}`)), step).rejects.toMatchObject({ status });
      }
      const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 2 });
      const { choices } = await patient.chat.completions.create(
        ask("@sim fail resource_exhausted ERROR_RATE_LIMITED retry=0 times=1 ;; say at last"),
      );
      expect(choices[0]?.message.content).toBe("at last");
    },
  );

  it("never logs a prompt, an answer or a secret", async () => {
    const { start } = await setUpGateway();
    const gateway = await start();
    await gateway.client.chat.completions.create(ask("@sim say canary-answer canary-prompt"));
    await gateway.stop();
    expect(gateway.log()).toContain('"route":"/v1/chat/completions"');
    for (const canary of ["canary", KEY, "tester"]) expect(gateway.log()).not.toContain(canary);
  });
});
