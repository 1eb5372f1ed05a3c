import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { loadConfig } from "../../../src/app/load-config.ts";
import { openGateway } from "../../../src/app/open-gateway.ts";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const LOOK: Anthropic.Tool = {
  name: "look",
  description: "looks",
  input_schema: { type: "object", properties: { at: { type: "string" } } },
};

const ask = (content: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) => ({
  model: "gpt-5.5",
  max_tokens: 1024,
  messages: [{ role: "user" as const, content }],
  ...more,
});

const textIn = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

async function setUp(...flags: string[]) {
  const gateway = await sharedGateway({}, ...flags);
  return { ...gateway, client: new Anthropic({ baseURL: gateway.url, apiKey: KEY, maxRetries: 0 }) };
}

describe("Anthropic's own client through the gateway", () => {
  it(
    "creates: what the backend received is what the client sent",
    proves("anthropic-sdk", "messages", "whole", "images", "usage"),
    async () => {
      const { client } = await setUp();
      const { data: message, request_id } = await client.messages
        .create({
          ...ask(""),
          system: [
            { type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" } },
            { type: "text", text: "Be kind." },
          ],
          output_config: { effort: "high" },
          messages: [
            { role: "user", content: "first" },
            { role: "system", content: "Mind the gap." },
            { role: "assistant", content: [{ type: "text", text: "answer" }] },
            {
              role: "user",
              content: [
                { type: "text", text: "@sim usage 100 20 5 ;; say {{system}}|{{history}}|{{images}}|{{model}}" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
              ],
            },
          ],
        })
        .withResponse();
      expect(textIn(message).split("|")).toEqual([
        "Be brief.\n\nBe kind.\n\nMind the gap.",
        "user: first\nassistant: answer",
        "1 image/png:70",
        expect.stringMatching(/^gpt-5\.5(-high| .*=high)/),
      ]);
      expect(message).toMatchObject({
        type: "message",
        role: "assistant",
        model: "gpt-5.5",
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 95, cache_read_input_tokens: 5, cache_creation_input_tokens: 0, output_tokens: 20 },
      });
      expect(message.id).toBe(`msg_${request_id}`);
    },
  );

  it(
    "streams text, thinking with a signature, and usage",
    proves("anthropic-sdk", "messages", "stream", "thinking", "usage"),
    async () => {
      const { client } = await setUp();
      const thinking: string[] = [];
      const stream = client.messages
        .stream(ask("@sim usage 9 4 1 ;; think let me see ;; say hello wide world"))
        .on("thinking", (delta) => thinking.push(delta));
      const message = await stream.finalMessage();
      expect(thinking).toEqual(["let", " me", " see"]);
      expect(message.content).toEqual([
        { type: "thinking", thinking: "let me see", signature: expect.stringMatching(/^[A-Za-z0-9+/]{40,}=$/) },
        { type: "text", text: "hello wide world", citations: null },
      ]);
      expect(message.usage).toMatchObject({ input_tokens: 8, cache_read_input_tokens: 1, output_tokens: 4 });
      expect(message.stop_reason).toBe("end_turn");
    },
  );

  it(
    "has calls streamed to it, and its results go on, with images and errors among them",
    proves("anthropic-sdk", "messages", "tools", "parallel"),
    async () => {
      const { client, trace } = await setUp();
      const prompt =
        '@sim think hm ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say {{result.0}}|{{result.1}}|{{reused}}';
      const params = { ...ask(prompt), tools: [LOOK] };
      const json: string[] = [];
      const stream = client.messages.stream(params).on("inputJson", (delta) => json.push(delta));
      const first = await stream.finalMessage();
      expect(json.join("")).toBe('{"at":"a"}{"at":"b"}');
      expect(first.stop_reason).toBe("tool_use");
      const [a, b] = first.content.filter((block) => block.type === "tool_use");
      const second = await client.messages.create({
        ...params,
        messages: [
          ...params.messages,
          { role: "assistant", content: first.content },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: a?.id ?? "",
                content: [
                  { type: "text", text: "saw it" },
                  { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
                ],
                cache_control: { type: "ephemeral" },
              },
              { type: "tool_result", tool_use_id: b?.id ?? "", content: "no such thing", is_error: true },
              { type: "text", text: "<system-reminder>\nmind the time\n</system-reminder>" },
            ],
          },
        ],
      });
      const [one, two, reused] = textIn(second).split("|");
      expect(one).toContain("saw it");
      expect(one).toContain("image/png");
      expect(two).toContain("no such thing");
      expect(two).toContain("mind the time");
      expect(reused).toBe("stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );

  it(
    "runs its tools in a loop, and goes without a thread where there is none",
    proves("anthropic-sdk", "messages", "rounds"),
    async () => {
      const { client, trace, log } = await setUp();
      const runner = client.beta.messages.toolRunner({
        ...ask('@sim call look {"at":"a"} ;; wait ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}'),
        tools: [
          {
            ...LOOK,
            input_schema: { type: "object" as const, properties: { at: { type: "string" } } },
            run: (input: unknown) => `saw ${(input as { at: string }).at}`,
            parse: (input: unknown) => input,
          },
        ],
      });
      const last = await runner;
      expect(last.content).toEqual([{ type: "text", text: "saw a saw b stream", citations: null }]);
      await expect.poll(log).toContain("thread_unsupported_request");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );

  it(
    "is told which stop sequence it was, that there was no room, and gets JSON by its schema",
    proves("anthropic-sdk", "messages", "structured"),
    async () => {
      const { client } = await setUp();
      const stopped = await client.messages.create(
        ask("@sim say one two three four ;; silent 60000", { stop_sequences: ["four", "three"] }),
      );
      expect(stopped).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "three" });
      expect(textIn(stopped)).toBe("one two ");
      const short = await client.messages.stream(ask("@sim tokens 500 0", { max_tokens: 10 })).finalMessage();
      expect(short.stop_reason).toBe("max_tokens");
      const parsed = await client.messages.parse({
        ...ask('@sim say {"answer": 42}'),
        output_config: { format: zodOutputFormat(z.object({ answer: z.number() })) },
      });
      expect(parsed.parsed_output).toEqual({ answer: 42 });
    },
  );

  it("counts tokens, lists models in its own shape, and finds one by another name", async () => {
    const { client, url } = await setUp();
    const { input_tokens } = await client.messages.countTokens({
      model: "gpt-5.5",
      system: "x".repeat(400),
      messages: [{ role: "user", content: "y".repeat(40) }],
    });
    expect(input_tokens).toBe(110);
    const page = await client.models.list({ limit: 1000 });
    expect(page.data.length).toBeGreaterThan(3);
    expect(page).toMatchObject({ has_more: false, first_id: page.data[0]?.id, last_id: page.data.at(-1)?.id });
    const paged = await Array.fromAsync(client.models.list({ limit: 3 }));
    expect(paged.map(({ id }) => id)).toEqual(page.data.map(({ id }) => id));
    expect(await client.models.retrieve("opus")).toMatchObject({
      type: "model",
      id: "claude-opus-4-8",
      display_name: "Claude Opus 4.8",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    await expect(client.models.retrieve("gpt-9")).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    const plain = await fetch(`${url}/v1/models`, { headers: { "x-api-key": KEY } });
    expect(await plain.json()).toMatchObject({ object: "list" });
  });

  it(
    "gets its own kinds of errors, before and within a stream",
    proves("anthropic-sdk", "messages", "errors"),
    async () => {
      const { client, url } = await setUp();
      const stranger = new Anthropic({ baseURL: url, apiKey: "a-wrong-key", maxRetries: 0 });
      await expect(stranger.messages.create(ask("hi"))).rejects.toMatchObject({
        constructor: Anthropic.AuthenticationError,
        type: "authentication_error",
        errorCode: "invalid_api_key",
        requestID: expect.any(String),
      });
      const limited = client.messages.create(ask("@sim fail resource_exhausted ERROR_RATE_LIMITED retry=7"));
      const error = await limited.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Anthropic.RateLimitError);
      expect((error as { readonly headers: Headers }).headers.get("retry-after")).toBe("7");
      await expect(client.messages.create({ ...ask("hi"), model: "gpt-5.6" })).rejects.toMatchObject({
        status: 404,
        type: "not_found_error",
      });
      const failing = client.messages.stream(ask("@sim say shown ;; fail internal went wrong"));
      let shown = "";
      failing.on("text", (delta) => {
        shown += delta;
      });
      await expect(failing.finalMessage()).rejects.toThrow("went wrong");
      expect(shown).toBe("shown");
      const patient = new Anthropic({ baseURL: url, apiKey: KEY, maxRetries: 2 });
      const message = await patient.messages.create(
        ask("@sim fail resource_exhausted ERROR_RATE_LIMITED retry=0 times=1 ;; say at last"),
      );
      expect(textIn(message)).toBe("at last");
    },
  );

  it("an abort reaches the backend", proves("anthropic-sdk", "messages", "abort"), async () => {
    const { client, trace } = await setUp();
    const stream = client.messages.stream(ask("@sim say a ;; silent 60000"));
    stream.on("text", () => stream.abort());
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
    await expect.poll(() => trace.some(isGivenUp), { timeout: 5000 }).toBe(true);
  });

  it("a silence is filled with pings, which may come before anything else", async () => {
    const home = mkdtempSync(join(tmpdir(), "excursor-pings-"));
    const limits = { keepAliveMs: 100 };
    const loaded = loadConfig({ flags: { port: 0, key: KEY }, environment: { EXCURSOR_HOME: home }, limits });
    const { url, close } = await openGateway(loaded, { isDemo: true, writeLog: () => {} });
    onTestFinished(async () => {
      await close(0);
      rmSync(home, { recursive: true, force: true });
    });
    const client = new Anthropic({ baseURL: url, apiKey: KEY, maxRetries: 0 });
    const message = await client.messages.stream(ask("@sim silent 600 ;; say at last")).finalMessage();
    expect(textIn(message)).toBe("at last");
    const raw = await client.messages
      .create({ ...ask("@sim silent 600 ;; say at last"), stream: true })
      .asResponse()
      .then((response) => response.text());
    expect(raw).toMatch(/^event: ping\ndata: {"type":"ping"}\n\n/);
    expect(raw.split("event: message_start")[0]).not.toContain("content_block");
  });

  it("a conversation that is too long is told in the words that make Claude Code shorten it", async () => {
    const { client, trace } = await setUp();
    const long = client.messages.create({ ...ask("x".repeat(150_000)), model: "gpt-5.4-mini" });
    await expect(long).rejects.toMatchObject({ status: 400, message: expect.stringContaining("prompt is too long") });
    expect(trace.some(({ kind }) => kind === "run_request")).toBe(false);
  });
});

describe("around the messages", () => {
  it("whoever looks whether anybody is there needs no key, and learns nothing", async () => {
    const { url } = await setUp();
    for (const path of ["/", "/api/hello"]) {
      const response = await fetch(`${url}${path}`, { method: "HEAD" });
      expect([response.status, await response.text()]).toEqual([200, ""]);
    }
  });

  it("a path or a method that is not there is told in the dialect that asks", async () => {
    const { url } = await setUp();
    const headers = { "x-api-key": KEY, "anthropic-version": "2026-10-21" };
    const missing = await fetch(`${url}/v1/v1/messages`, { method: "POST", headers });
    expect([missing.status, await missing.json()]).toMatchObject([415, { type: "error" }]);
    const wrong = await fetch(`${url}/v1/messages`, { headers: { "x-api-key": KEY } });
    expect([wrong.status, await wrong.json()]).toMatchObject([405, { type: "error" }]);
    const unknown = await fetch(`${url}/v1/batches`, { headers });
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { type: "not_found_error" } }]);
  });

  it("a thread is refused in the words that make the SDK send the whole conversation", async () => {
    const { url } = await setUp();
    const post = async (thread: object) => {
      const response = await fetch(`${url}/v1/messages?beta=true`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ ...ask("hi"), thread }),
      });
      return [response.status, ((await response.json()) as { error: object }).error];
    };
    expect(await post({ type: "create" })).toMatchObject([
      400,
      { type: "invalid_request_error", details: { error_code: "thread_unsupported_request", unsupported: [] } },
    ]);
    expect(await post({ type: "continue", previous_message_id: "msg_1" })).toMatchObject([
      400,
      { details: { error_code: "thread_not_found" } },
    ]);
  });
});
