import { type Message, Ollama, type Tool } from "ollama";
import { describe, expect, it } from "vitest";
import { proves } from "../../clients/matrix/proof.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { KEY } from "../support/gateway-process.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const model = "gpt-5.5";
const LOOK: Tool = {
  type: "function",
  function: {
    name: "look",
    description: "looks",
    parameters: { type: "object", properties: { at: { type: "string" } } },
  },
};

async function setUp() {
  const gateway = await sharedGateway();
  const headers = { authorization: `Bearer ${KEY}` };
  return { ...gateway, client: new Ollama({ host: gateway.url, headers }) };
}

const asked = (content: string): Message[] => [{ role: "user", content }];

describe("Ollama's own client through the gateway", () => {
  it(
    "chats, with thinking, images and a schema",
    proves("ollama-sdk", "ollama", "whole", "images", "thinking", "structured", "usage"),
    async () => {
      const { client } = await setUp();
      const { message, done_reason, eval_count } = await client.chat({
        model: `${model}:latest`,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "@sim think hm ;; say {{system}} {{images}}", images: [Buffer.from(PNG, "base64")] },
        ],
        keep_alive: "5m",
      });
      expect(message).toEqual({ role: "assistant", content: "Be brief. 1 image/png:70", thinking: "hm" });
      expect([done_reason, eval_count > 0]).toEqual(["stop", true]);
      const quiet = await client.chat({ model, messages: asked("@sim think hm ;; say so"), think: false });
      expect(quiet.message).toEqual({ role: "assistant", content: "so" });
      const format = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
      const { message: city } = await client.chat({ model, messages: asked('@sim say {"city":"Bern"}'), format });
      expect(JSON.parse(city.content)).toEqual({ city: "Bern" });
    },
  );

  it("streams, and stops when it is aborted", proves("ollama-sdk", "ollama", "stream", "abort"), async () => {
    const { client, trace } = await setUp();
    const stream = await client.chat({
      model,
      messages: asked("@sim think a ;; say b c"),
      stream: true,
      think: "high",
    });
    let [text, thinking, isDone] = ["", "", false];
    for await (const { message, done } of stream) {
      text += message.content;
      thinking += message.thinking ?? "";
      isDone = done;
    }
    expect([text, thinking, isDone]).toEqual(["b c", "a", true]);
    const endless = await client.chat({ model, messages: asked("@sim say a ;; silent 60000"), stream: true });
    const reading = (async () => {
      for await (const { message } of endless) if (message.content !== "") endless.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    await expect.poll(() => trace.filter(isGivenUp).length, { timeout: 5000 }).toBe(1);
  });

  it.each([false, true])(
    "calls tools over several turns, also at once (streamed: %s)",
    proves("ollama-sdk", "ollama", "tools", "parallel", "rounds"),
    async (isStream) => {
      const { client, trace } = await setUp();
      const messages = asked(
        '@sim say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; wait ;; call look {"at":"c"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
      );
      const ask = async (): Promise<Message> => {
        if (!isStream) return (await client.chat({ model, messages, tools: [LOOK] })).message;
        const whole: Message = { role: "assistant", content: "" };
        for await (const { message } of await client.chat({ model, messages, tools: [LOOK], stream: true })) {
          whole.content += message.content;
          if (message.tool_calls) whole.tool_calls = [...(whole.tool_calls ?? []), ...message.tool_calls];
        }
        return whole;
      };
      let answer = await ask();
      expect(answer.tool_calls).toHaveLength(2);
      while (answer.tool_calls?.length) {
        messages.push(answer);
        for (const { function: called } of answer.tool_calls) {
          messages.push({ role: "tool", content: `saw ${called.arguments["at"]}`, tool_name: called.name });
        }
        answer = await ask();
      }
      expect(answer.content).toBe("saw a saw b saw c stream");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );

  it("generates, whole and streamed", async () => {
    const { client } = await setUp();
    const prompt = "@sim think hm ;; say {{system}} {{images}}";
    const whole = await client.generate({ model, prompt, system: "Be brief.", images: [PNG] });
    expect(whole).toMatchObject({ response: "Be brief. 1 image/png:70", thinking: "hm", done: true });
    let text = "";
    for await (const { response } of await client.generate({ model, prompt: "@sim say a b", stream: true })) {
      text += response;
    }
    expect(text).toBe("a b");
    await expect(client.generate({ model, prompt: "a", suffix: "b" })).rejects.toThrow(/suffix: not supported/);
  });

  it("lists and shows models, and the version", async () => {
    const { client } = await setUp();
    const { models } = await client.list();
    expect(models.map(({ name }) => name)).toContain(model);
    const shown = await client.show({ model });
    expect(shown.capabilities).toEqual(expect.arrayContaining(["completion", "tools", "vision"]));
    expect(Object.fromEntries(Object.entries(shown.model_info))).toMatchObject({
      "general.architecture": "excursor",
      "excursor.context_length": expect.any(Number),
    });
    expect((await client.version()).version).toMatch(/^\d+\.\d+\.\d+$/);
    expect((await client.ps()).models).toEqual([]);
    await expect(client.show({ model: "no-such-model" })).rejects.toMatchObject({ status_code: 404 });
  });

  it("loads and unloads a model without asking it", async () => {
    const { client, trace } = await setUp();
    const loaded = await client.chat({ model, messages: [] });
    expect(loaded).toMatchObject({ message: { content: "" }, done: true, done_reason: "load" });
    const { response, done_reason } = await client.generate({ model, prompt: "", keep_alive: 0 });
    expect([response, done_reason]).toEqual(["", "unload"]);
    const reasons: string[] = [];
    for await (const line of await client.generate({ model, prompt: "", stream: true })) reasons.push(line.done_reason);
    expect(reasons).toEqual(["load"]);
    await expect(client.chat({ model: "gpt-5.6", messages: [] })).rejects.toMatchObject({ status_code: 404 });
    expect(trace.filter(({ kind }) => kind === "run_request")).toEqual([]);
  });

  it("is told of errors, before the answer and within it", proves("ollama-sdk", "ollama", "errors"), async () => {
    const { client, url } = await setUp();
    await expect(client.chat({ model: "gpt-5.6", messages: asked("hi") })).rejects.toMatchObject({
      status_code: 404,
      message: expect.stringContaining("gpt-5.5"),
    });
    const broken = await client.chat({
      model,
      messages: asked("@sim say a ;; fail internal went wrong"),
      stream: true,
    });
    const read = async () => {
      for await (const _ of broken);
    };
    await expect(read()).rejects.toThrow(/went wrong/);
    const badImage = client.generate({ model, prompt: "hi", images: [`${PNG}\u0000`] });
    await expect(badImage).rejects.toMatchObject({
      status_code: 400,
      message: expect.stringMatching(/^images\[0\]: /),
    });
    const stranger = new Ollama({ host: url });
    await expect(stranger.chat({ model, messages: asked("hi") })).rejects.toMatchObject({ status_code: 401 });
  });
});
