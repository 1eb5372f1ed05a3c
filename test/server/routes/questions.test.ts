import { describe, expect, it } from "vitest";
import { createClient } from "../../../src/cli/gateway-client.ts";
import { readEvents } from "../../../src/cli/read-events.ts";
import { answerQuestion } from "../../../src/cli/terminal/answer-question.ts";
import { Secret } from "../../../src/core/secret.ts";
import { KEY, postChat, startTestGateway, type TestGateway } from "../support/gateway.ts";

const QUESTION = { server: "srv", message: "Who\nare you?", schema: { type: "object" } };
const { signal } = new AbortController();
const headers = { "x-excursor-asks": "1" };

/** A streamed answer in the middle of which somebody wants to know something. */
async function askedIn(gateway: TestGateway) {
  const responding = postChat(gateway, { stream: true }, { headers });
  const answer = await gateway.engine.next();
  await Promise.resolve();
  answer.say("so: ");
  const reader = (await responding).body?.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(received);
      if (found) return found;
      const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) throw new Error(received);
      received += value;
    }
  };
  await until(/so: /);
  const given = answer.context.elicit?.(QUESTION, signal);
  const [, json = ""] = await until(/^: excursor-question (.*)\n\n/m);
  return { answer, given, question: JSON.parse(json) as { id: string }, until };
}

const post = (gateway: TestGateway, body: object, key = KEY) =>
  fetch(`${gateway.url}/excursor/answers`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe("a question of a tool's, to a client that can ask its user", () => {
  it.each([
    [{ action: "accept", content: { name: "Ann", ages: ["1"], isIt: true, n: 3 } }],
    [{ action: "decline" }],
    [{ action: "cancel" }],
  ])("is a comment in the stream, and answered by a request: %j", async (given) => {
    const gateway = await startTestGateway();
    const asked = await askedIn(gateway);
    expect(asked.question).toEqual({ ...QUESTION, id: expect.any(String) });
    expect((await post(gateway, { id: asked.question.id, ...given })).status).toBe(200);
    expect(await asked.given).toEqual(given);
    expect((await post(gateway, { id: asked.question.id, ...given })).status).toBe(404);
    asked.answer.finish();
    await asked.until(/\[DONE\]/);
  });

  it("is nobody else's to answer (SEC-31)", async () => {
    const gateway = await startTestGateway();
    const { question, given, answer } = await askedIn(gateway);
    // A Cursor token is a principal of its own.
    const token = `user_01::${["{}", "{}", "x"].map((part) => Buffer.from(part).toString("base64url")).join(".")}`;
    for (const key of ["wrong", token]) {
      const { status } = await post(gateway, { id: question.id, action: "accept", content: {} }, key);
      expect([401, 404]).toContain(status);
    }
    expect((await post(gateway, { id: question.id, action: "decline" })).status).toBe(200);
    expect(await given).toEqual({ action: "decline" });
    answer.finish();
  });

  it.each([
    [{}, "id"],
    [{ id: "x", action: "maybe" }, "action"],
    [{ id: "x", action: "accept", content: [1] }, "content"],
    [{ id: "x", action: "accept", content: { a: { b: 1 } } }, "content"],
  ])("an answer that is none is refused with its field: %j", async (body, field) => {
    const response = await post(await startTestGateway(), body);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(`${field}: expected`)]);
  });

  it("is not asked of others, nor when the stream is over", async () => {
    const gateway = await startTestGateway();
    const plain = postChat(gateway, { stream: true });
    const first = await gateway.engine.next();
    expect(first.context.elicit).toBeUndefined();
    first.finish();
    await (await plain).text();
    const whole = postChat(gateway, {}, { headers });
    const second = await gateway.engine.next();
    expect(second.context.elicit).toBeUndefined();
    second.finish();
    await (await whole).text();

    const streamed = postChat(gateway, { stream: true }, { headers });
    const third = await gateway.engine.next();
    third.finish();
    await (await streamed).text();
    expect(await third.context.elicit?.(QUESTION, signal)).toEqual({ action: "decline" });
  });

  it("is put to the user of `excursor chat`, and the answer goes on", async () => {
    const gateway = await startTestGateway();
    const client = createClient({ url: gateway.url, key: new Secret(KEY) });
    const body = { model: "some-model", stream: true, messages: [{ role: "user", content: "hi" }] };
    const responding = client.call("/v1/chat/completions", { body, signal, headers });
    const answer = await gateway.engine.next();
    answer.say("so: ");
    const response = await responding;
    const given = answer.context.elicit?.(QUESTION, signal).then((said) => {
      answer.say(JSON.stringify(said));
      answer.finish();
    });
    let text = "";
    const ask = async ({ message }: typeof QUESTION) => {
      expect(message).toBe(QUESTION.message);
      return { action: "accept", content: { name: "Ann" } } as const;
    };
    const onComment = (comment: string) =>
      answerQuestion(comment, client, { signal, onAsk: () => {}, ask: ask as never });
    for await (const event of readEvents(response, undefined, onComment)) {
      text += (event as { choices: { delta?: { content?: string } }[] }).choices[0]?.delta?.content ?? "";
    }
    await given;
    expect(text).toBe('so: {"action":"accept","content":{"name":"Ann"}}');
  });
});
