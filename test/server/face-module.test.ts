import { describe, expect, it } from "vitest";
import { echoJson } from "../../docs/examples/echo-json-face.ts";
import { FACES as REGISTERED } from "../../src/app/faces.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import type { ByteRenderer, Face, ParseContext } from "../../src/faces/shared/face.ts";
import type { FaceModule, FaceModules } from "../../src/faces/shared/face-module.ts";
import { aTurn } from "../core/support/turns.ts";
import { KEY, postChat, startTestGateway, type TestGateway } from "./support/gateway.ts";

const FACES: FaceModules = [...REGISTERED.gateway, echoJson];

const ask = (gateway: TestGateway, path: string, headers: Record<string, string> = {}) =>
  fetch(gateway.url + path, {
    method: "POST",
    body: JSON.stringify({ prompt: "hi" }),
    headers: { "content-type": "application/json", ...headers },
  });

describe("a face beside the others", () => {
  it("reads its model from the path and the form of its answer from the query", async () => {
    const gateway = await startTestGateway({ faces: FACES });
    const response = ask(gateway, "/echo/vendor/a%20model:ask?stream=true", { "x-echo-key": KEY });
    const answer = await gateway.engine.next();
    expect(answer.turn.model.id).toBe("vendor/a model");
    answer.say("he", "llo");
    answer.finish();
    expect(await (await response).text()).toBe(
      '{"text":"he"}\n{"text":"llo"}\n{"usage":{"inputTokens":7,"outputTokens":5}}\n{"done":"stop"}\n',
    );
  });

  it("answers plain calls, and in its own words what no route is for", async () => {
    const gateway = await startTestGateway({ faces: FACES });
    const get = async (path: string) => (await fetch(gateway.url + path, { headers: { "x-echo-key": KEY } })).json();
    expect(await get("/echo/models")).toEqual({ models: ["some-model"] });
    expect(await get("/echo/nothing")).toMatchObject({ error: { kind: "not-found" } });
  });
});

describe("where a face has its keys", () => {
  it.each([
    ["a header of its own", "/echo/m:ask", { "x-echo-key": KEY }],
    ["the query", `/echo/m:ask?key=${KEY}`, {}],
    ["the usual header", "/echo/m:ask", { authorization: `Bearer ${KEY}` }],
  ])("%s is looked at", async (_, path, headers) => {
    const gateway = await startTestGateway({ faces: FACES });
    const response = ask(gateway, path, headers);
    (await gateway.engine.next()).finish();
    expect((await response).status).toBe(200);
  });

  it("no other face looks there (SEC-03)", async () => {
    const gateway = await startTestGateway({ faces: FACES });
    const statuses = [`/v1/models?key=${KEY}`, "/v1/models"].map(
      async (path) => (await fetch(gateway.url + path, { headers: { "x-echo-key": KEY } })).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 401]);
  });

  it("tries one key of a query, however often its parameter is there (SEC-09)", async () => {
    const gateway = await startTestGateway({ faces: FACES });
    expect((await ask(gateway, `/echo/m:ask?key=wrong&key=${KEY}`)).status).toBe(401);
  });

  it("what stands there is neither logged nor echoed, right or wrong (SEC-09, SEC-50)", async () => {
    const gateway = await startTestGateway({ faces: FACES });
    const wrong = "a-key-that-nobody-knows";
    const refused = await ask(gateway, `/echo/m:ask?key=${wrong}`, { "x-request-id": "wrong" });
    expect(refused.status).toBe(401);
    expect(await refused.text()).not.toContain(wrong);
    const unknown = await ask(gateway, `/echo/nothing?key=${wrong}`, { "x-request-id": "unknown" });
    expect(await unknown.text()).not.toContain(wrong);
    await Promise.all([gateway.logged("wrong"), gateway.logged("unknown")]);
    expect(JSON.stringify(gateway.log)).not.toContain(wrong);
  });

  it("is empty when the face sees the request", async () => {
    let seen: ParseContext | undefined;
    const gateway = await startTestGateway({ faces: [binary({ onParse: (context) => (seen = context) }), echoJson] });
    const response = ask(gateway, `/binary?key=${KEY}&a=b`, { "x-binary-key": KEY, "x-other": "c", cookie: "d=e" });
    (await gateway.engine.next()).finish();
    await (await response).bytes();
    expect(String(seen?.query)).toBe("a=b");
    expect(["x-other", "x-binary-key", "authorization", "cookie"].map((name) => seen?.header(name))).toEqual([
      "c",
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("a stream of bytes", () => {
  it("is written as it is, without comments of ours", async () => {
    const faces: FaceModules = [binary(), ...REGISTERED.gateway];
    const gateway = await startTestGateway({ faces, limits: { keepAliveMs: 20 } });
    const response = ask(gateway, "/binary", { "x-binary-key": KEY });
    const answer = await gateway.engine.next();
    answer.say("a");
    // Another stream of the same gateway has been silent for long enough to be kept alive twice.
    const chat = await Promise.all([postChat(gateway, { stream: true }), gateway.engine.next()]);
    const reader = (chat[0].body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    while (heard.split(": keep-alive").length <= 2) heard += (await reader.read()).value ?? "";
    chat[1].finish();
    answer.say("b");
    answer.finish();
    expect((await response).headers.get("content-type")).toBe("application/octet-stream");
    expect([...(await (await response).bytes())]).toEqual([0xff, 0x61, 0xff, 0x62, 0xfe]);
  });

  it("has the keep-alive of its dialect", async () => {
    const keepAlive = Uint8Array.of(0xfd);
    const gateway = await startTestGateway({ faces: [binary({ keepAlive })], limits: { keepAliveMs: 20 } });
    const response = await Promise.all([ask(gateway, "/binary", { "x-binary-key": KEY }), gateway.engine.next()]);
    const [first] = await (response[0].body as ReadableStream<Uint8Array>)
      .values()
      .next()
      .then(({ value }) => value ?? []);
    expect(first).toBe(0xfd);
  });

  it("ends with its error, from which secrets are taken before it becomes bytes (SEC-50)", async () => {
    const gateway = await startTestGateway({ faces: [binary()] });
    const response = ask(gateway, "/binary", { "x-binary-key": KEY });
    const answer = await gateway.engine.next();
    answer.say("a");
    answer.fail(new ExcursorError("upstream-failed", `No ${KEY} here.`));
    const text = new TextDecoder().decode(await (await response).bytes());
    expect(text).toMatch(/No .+ here\./);
    expect(text).not.toContain(KEY);
  });
});

interface BinaryOptions {
  readonly keepAlive?: Uint8Array;
  readonly onParse?: (context: ParseContext) => void;
}

/** A dialect whose stream is 0xff before each text and 0xfe at its end. */
function binary({ keepAlive, onParse }: BinaryOptions = {}): FaceModule {
  const renderer: ByteRenderer = {
    contentType: "application/octet-stream",
    ...(keepAlive && { keepAlive }),
    step: (events) =>
      Buffer.concat(
        events.map((event) => {
          if (event.type === "text") return Buffer.from([0xff, ...Buffer.from(event.text)]);
          return Buffer.from(event.type === "done" ? [0xfe] : []);
        }),
      ),
    fail: (error) => Buffer.from(error.message),
  };
  const face: Face<ByteRenderer> = {
    async parse(_, context) {
      onParse?.(context);
      return {
        turn: aTurn({ principal: context.principal }),
        isStream: true,
        ignored: [],
        stream: () => renderer,
        collect: () => ({ step: () => {}, body: () => ({}) }),
      };
    },
  };
  return {
    name: "binary",
    credentials: [{ header: "x-binary-key" }, { query: "key" }],
    error: () => ({ status: 400, headers: {}, body: {} }),
    routes: () => [{ type: "turn", path: "/binary", face }],
  };
}
