import { describe, expect, it } from "vitest";
import { startOpenAiServer } from "../drivers/support/openai-server.ts";
import { KEY, setUpGateway } from "./support/gateway-process.ts";
import { openOwnGateway } from "./support/own-gateway.ts";

const HEADERS = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
const PROMPT = "@sim say it is {{model}}";

const DIALECTS = [
  ["/v1/chat/completions", { messages: [{ role: "user", content: PROMPT }] }],
  ["/v1/responses", { input: PROMPT }],
  ["/v1/messages", { messages: [{ role: "user", content: PROMPT }], max_tokens: 1000 }],
] as const;

async function start(models?: string) {
  const stage = await setUpGateway({}, models === undefined ? {} : { EXCURSOR_MODELS: models });
  const { url } = await stage.open();
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
    return { status: response.status, model: response.headers.get("x-excursor-model"), text: await response.text() };
  };
  return {
    post,
    ask: (model: string) => post(DIALECTS[0][0], { ...DIALECTS[0][1], model }),
    get: async (path: string) => {
      const response = await fetch(url + path, { headers: HEADERS });
      return { status: response.status, body: (await response.json()) as { data?: { id: string }[]; name?: string } };
    },
  };
}

it("the user's fallback answers unknown names also where no account is signed in", async () => {
  const upstream = await startOpenAiServer([{ content: "from the other upstream" }]);
  const models = { "*": "local/m", "local/*": { driver: "openai", baseURL: `${upstream.url}/v1` } };
  const { url } = await openOwnGateway({ models, token: undefined });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({ ...DIALECTS[0][1], model: "gpt-4o" }),
  });
  expect([response.status, response.headers.get("x-excursor-model")]).toEqual([200, "local/m"]);
});

describe("a model that the account does not have", () => {
  it("is stood in for by the nearest one if its name is public; a header tells which", async () => {
    const { post, ask, get } = await start();
    for (const [path, body] of DIALECTS) {
      for (const stream of [true, false]) {
        const { status, model, text } = await post(path, { ...body, stream, model: "gpt-4o" });
        expect([path, stream, status, model]).toEqual([path, stream, 200, "gpt-5.5"]);
        if (!stream) expect(text).toContain("it is gpt-5.5");
      }
    }
    expect(await ask("claude-3-5-sonnet-20241022")).toMatchObject({ status: 200, model: "claude-4.5-sonnet" });
    expect(await get("/v1/models/gpt-4o")).toMatchObject({ status: 200, body: { id: "gpt-4o", name: "GPT-5.5" } });
    const { data = [] } = (await get("/v1/models")).body;
    expect(data.map(({ id }) => id)).not.toContain("gpt-4o");
  });

  it("is a 404 if its name resembles nothing, and what the account has is answered as ever", async () => {
    const { ask, get } = await start();
    for (const model of ["banana", "gpt-5-banana", "llama-3.1-70b"]) {
      expect(await ask(model)).toMatchObject({
        status: 404,
        model: null,
        text: expect.stringContaining("model_not_found"),
      });
    }
    expect((await get("/v1/models/banana")).status).toBe(404);
    for (const model of ["gpt-5.5", "claude-sonnet-4-5-20250929", "auto"]) {
      expect(await ask(model)).toMatchObject({ status: 200, model: null });
    }
  });

  it("is the user's own fallback, whatever its name; EXCURSOR_MODELS takes JSON", async () => {
    const { ask, get } = await start('{ "*": "mine", "mine": "composer-2.5", "gpt-4*": "claude-sonnet-5" }');
    for (const model of ["banana", "o3-mini"]) {
      expect(await ask(model)).toMatchObject({
        status: 200,
        model: "composer-2.5",
        text: expect.stringMatching(/composer/),
      });
    }
    // A name that the user has given says what it means.
    expect(await ask("gpt-4o")).toMatchObject({
      status: 200,
      model: null,
      text: expect.stringMatching(/claude-sonnet-5/),
    });
    expect(await ask("gpt-5.5")).toMatchObject({ status: 200, model: null });
    const { data = [] } = (await get("/v1/models")).body;
    expect(data.map(({ id }) => id)).not.toContain("*");
  });
});
