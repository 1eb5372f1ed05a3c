import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { replyJson, startApiServer } from "../drivers/support/api-server.ts";
import { errorBody } from "../drivers/support/openai-server.ts";
import { KEY } from "./support/gateway-process.ts";
import { openOwnGateway } from "./support/own-gateway.ts";

/** A server with the two APIs, as OpenAI and compatible servers have them. */
async function setUp(limits: object = {}) {
  const upstream = await startApiServer(({ path, body, closed }, response) => {
    if (body?.model === "gone") return replyJson(response, 404, errorBody("model_not_found", "no such model"));
    if (path === "/v1/embeddings") {
      const data = body.input.map((_: string, index: number) => ({ object: "embedding", index, embedding: [0.5, -1] }));
      return replyJson(response, 200, {
        object: "list",
        data,
        model: body.model,
        usage: { prompt_tokens: 7, total_tokens: 7 },
      });
    }
    const choice = (text: string) => ({ index: 0, text, finish_reason: null, logprobs: null });
    const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
    if (!body.stream) {
      const text = `${body.prompt}|${body.suffix}`;
      return replyJson(response, 200, { object: "text_completion", choices: [choice(text)], usage });
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    send({ object: "text_completion", choices: [choice("a")] });
    if (body.prompt === "endless") return closed.then(() => ends.push("closed"));
    send({ object: "text_completion", choices: [choice("b")], usage });
    return response.end("data: [DONE]\n\n");
  });
  const ends: string[] = [];
  const baseURL = `${upstream.url}/v1`;
  const models = { "local/*": { driver: "openai", baseURL }, small: "local/embed" };
  const gateway = await openOwnGateway({ models, limits });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 });
  return { upstream, gateway, client, ends };
}

describe("requests that are passed on, by OpenAI's own client", () => {
  it("gives embeddings of the upstream, by any name of the model", async () => {
    const { upstream, client } = await setUp();
    const ask = {
      input: ["a", "b"],
      encoding_format: "float" as const,
      dimensions: 2,
      user: "me",
    } satisfies Partial<OpenAI.EmbeddingCreateParams>;
    for (const model of ["local/embed", "small"]) {
      const { data, usage } = await client.embeddings.create({ ...ask, model });
      expect([data.map(({ embedding }) => embedding), usage.total_tokens]).toEqual([
        [
          [0.5, -1],
          [0.5, -1],
        ],
        7,
      ]);
    }
    expect(upstream.calls.map(({ body }) => body)).toEqual([0, 1].map(() => ({ ...ask, model: "embed" })));
  });

  it("completes with a suffix, whole and streamed", async () => {
    const { client } = await setUp();
    const whole = await client.completions.create({ model: "local/code", prompt: "before", suffix: "after" });
    expect(whole.choices[0]?.text).toBe("before|after");
    let text = "";
    for await (const { choices } of await client.completions.create({
      model: "local/code",
      prompt: "x",
      stream: true,
    })) {
      text += choices[0]?.text ?? "";
    }
    expect(text).toBe("ab");
  });

  it("says which setting to make if there is no upstream: 501", async () => {
    const { client } = await setUp();
    const refused = await client.embeddings.create({ model: "text-embedding-3-small", input: "x" }).catch((e) => e);
    expect(refused).toMatchObject({ status: 501, code: "no_upstream", param: "model" });
    expect(refused.message).toContain("setting `models`");
  });

  it("has the checks of every request, and the errors of the upstream", async () => {
    const { client, gateway } = await setUp();
    await expect(client.embeddings.create({ model: "local/gone", input: ["x"] })).rejects.toMatchObject({
      status: 404,
    });
    const post = (body: string, key = KEY) =>
      fetch(`${gateway.url}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body,
      });
    expect((await post("{}", "wrong")).status).toBe(401);
    for (const body of ["[]", "{}", '{"model":1}']) expect((await post(body)).status).toBe(400);
    const guest = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"auth0|user_x","exp":9999999999}').toString("base64url")}.c2ln`;
    expect((await post('{"model":"local/embed","input":["x"]}', guest)).status).toBe(403);
  });

  it("counts their tokens, and cancels them at the upstream when the client leaves", async () => {
    const { client, ends, gateway } = await setUp();
    await client.embeddings.create({ model: "local/embed", input: ["a"] });
    await expect.poll(() => gateway.log()).toContain('"inputTokens":7');
    const leaving = new AbortController();
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "local/code", prompt: "endless", stream: true }),
      signal: leaving.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    leaving.abort();
    await expect.poll(() => ends, { timeout: 10_000 }).toEqual(["closed"]);
  });
});
