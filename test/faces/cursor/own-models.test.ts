import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { RunPeer, ServeRun } from "../../../src/faces/cursor/run-peer.ts";
import { GetUsableModelsResponseSchema } from "../../../src/gen/agent/v1/model_pb.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";
import { AgentService } from "../../../src/gen/agent/v1/service_pb.ts";
import { AiService } from "../../../src/gen/aiserver/v1/ai_pb.ts";
import { BidiPollRequestSchema } from "../../../src/gen/aiserver/v1/bidi_pb.ts";
import { AvailableModelsResponseSchema } from "../../../src/gen/aiserver/v1/models_pb.ts";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { encodeClientMessage } from "../../../src/wire/agent/messages.ts";
import { encodeFrame } from "../../../src/wire/connect/envelope.ts";
import { KEY, SIGNED_IN, setUpFace, setUpSim } from "./support/stage.ts";

const NOTHING: ServeRun = (peer) => peer.end();

async function post(url: string, path: string, token: string, type = "application/proto"): Promise<Buffer> {
  const headers = { authorization: `Bearer ${token}`, "content-type": type };
  const response = await fetch(`${url}${path}`, { method: "POST", headers, body: type.endsWith("json") ? "{}" : "" });
  return Buffer.from(await response.arrayBuffer());
}

const getModels = async (url: string, token: string): Promise<string> =>
  (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).text();

/** {"alg":"HS256","kid":"excursor","typ":"JWT"} */
const TOKEN_PREFIX = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImV4Y3Vyc29yIiwidHlwIjoiSldUIn0.";

const USABLE = "/agent.v1.AgentService/GetUsableModels";
const AVAILABLE = "/aiserver.v1.AiService/AvailableModels";

describe("the lists of models", () => {
  it("are the backend's byte for byte, with ours behind them", async () => {
    const { url, sim } = await setUpSim({ serveRun: NOTHING });
    for (const path of [USABLE, AVAILABLE]) {
      const [theirs, all] = await Promise.all([post(sim.url, path, SIGNED_IN), post(url, path, SIGNED_IN)]);
      expect(all.subarray(0, theirs.length).equals(theirs)).toBe(true);
      expect(all.length).toBeGreaterThan(theirs.length);
    }
    const { models } = fromBinary(GetUsableModelsResponseSchema, await post(url, USABLE, SIGNED_IN));
    expect(models.slice(-2)).toMatchObject([
      { modelId: "excursor/local", displayModelId: "excursor/local", displayName: "Local", thinkingDetails: {} },
      { modelId: "excursor/acp:agent", displayName: "Agent (acp:agent)" },
    ]);
    const available = fromBinary(AvailableModelsResponseSchema, await post(url, AVAILABLE, SIGNED_IN));
    expect(available.modelNames.slice(-2)).toEqual(["excursor/local", "excursor/acp:agent"]);
    expect(available.models.at(-1)).toMatchObject({ clientDisplayName: "Agent (acp:agent)" });
    expect(available.models.at(-2)).toMatchObject({ supportsImages: true, contextTokenLimit: 64_000 });
    expect(available.models.at(-2)?.variants.map(({ parameters }) => parameters[0]?.value)).toEqual(["low", "high"]);
  });

  it("are the same as JSON", async () => {
    const { url, sim } = await setUpSim({ serveRun: NOTHING });
    const [theirs, all] = await Promise.all([getModels(sim.url, SIGNED_IN), getModels(url, SIGNED_IN)]);
    // All but the end of the list and of the object.
    expect(all.startsWith(theirs.slice(0, -2))).toBe(true);
    const ids = (JSON.parse(all) as { items: { id: string }[] }).items.map(({ id }) => id);
    expect(ids.slice(-2)).toEqual(["excursor/local", "excursor/acp:agent"]);
    expect(all).toContain('"displayName":"Agent (acp:agent)"');
    const rpc = JSON.parse((await post(url, USABLE, SIGNED_IN, "application/json")).toString()) as { models: object[] };
    expect(rpc.models.at(-1)).toMatchObject({ modelId: "excursor/acp:agent" });
  });

  it("can be read by an independent client", async () => {
    const { url } = await setUpSim({ serveRun: NOTHING });
    for (const httpVersion of ["1.1", "2"] as const) {
      const transport = createConnectTransport({
        baseUrl: url,
        httpVersion,
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${SIGNED_IN}`);
            return next(request);
          },
        ],
      });
      const { models } = await createClient(AgentService, transport).getUsableModels({});
      expect(models.map(({ modelId }) => modelId)).toEqual(expect.arrayContaining(["default", "excursor/local"]));
      const { model } = await createClient(AiService, transport).getDefaultModelForCli({});
      expect(model?.modelId).toBe("default");
    }
  });

  it("have none of ours for other accounts", async () => {
    const { url, sim } = await setUpSim({ serveRun: NOTHING });
    expect(await getModels(url, "somebody-else")).toBe(await getModels(sim.url, "somebody-else"));
  });

  it("do not believe what a token claims", async () => {
    const { url, sim } = await setUpSim({ serveRun: NOTHING });
    // The simulator believes its tokens' claims, so the backend must refuse this one for another reason.
    const claims = Buffer.from(JSON.stringify({ sub: `auth0|user_${SIGNED_IN}`, exp: 1 })).toString("base64url");
    const forged = `e30.${claims}.forged`;
    expect(await getModels(url, forged)).toBe(await getModels(sim.url, forged));
    expect(await getModels(url, forged)).not.toContain("excursor/");
  });
});

describe("a key of the gateway", () => {
  const exchange = async (url: string, key: string): Promise<{ status: number; accessToken?: string }> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${url}/auth/exchange_user_api_key`, { method: "POST", headers, body: "{}" });
    return { status: response.status, ...((await response.json()) as object) };
  };

  it("is exchanged for a token of this face, which needs no backend", async () => {
    const { url } = await setUpFace("http://127.0.0.1:9", { serveRun: NOTHING });
    const { accessToken = "" } = await exchange(url, KEY);
    expect(accessToken).toMatch(new RegExp(`^${TOKEN_PREFIX}[\\w-]+[.][\\w-]+$`));
    const list = JSON.parse(await getModels(url, KEY)) as { items: { id: string }[] };
    expect(list.items.map(({ id }) => id)).toEqual(["excursor/local", "excursor/acp:agent"]);
    const usable = fromBinary(GetUsableModelsResponseSchema, await post(url, USABLE, accessToken));
    expect(usable.models).toHaveLength(2);
  });

  it("never reaches the backend, nor does a token of the face, valid or not", async () => {
    const { url, trace } = await setUpSim({ serveRun: NOTHING });
    const { accessToken = "" } = await exchange(url, KEY);
    for (const token of [KEY, accessToken, `${accessToken}x`, `${TOKEN_PREFIX}e30.x`, "exc_unknown"]) {
      await post(url, "/aiserver.v1.DashboardService/GetMe", token);
      await getModels(url, token);
    }
    expect(trace).toEqual([]);
  });

  it.each([
    ["in Basic", { authorization: `Basic ${Buffer.from("exc_unknown:").toString("base64")}` }],
    ["with more behind it", { authorization: `Bearer ${KEY} x` }],
    ["in quotes", { authorization: `Bearer "${KEY}"` }],
    ["after a tab", { authorization: `Bearer\t${KEY}` }],
    ["without a scheme", { authorization: KEY }],
    ["with another scheme", { authorization: `Token ${KEY}` }],
    ["in x-api-key", { "x-api-key": KEY }],
    ["beside a login", { authorization: `Bearer ${SIGNED_IN}`, "x-api-key": KEY }],
  ])("does not reach the backend %s either (SEC-13)", async (_, headers) => {
    const { url, trace } = await setUpSim({ serveRun: NOTHING });
    for (const path of ["/v1/models", "/v1/me"]) {
      const response = await fetch(`${url}${path}`, { headers });
      expect(await response.json()).toMatchObject({ error: { code: "unauthenticated" } });
    }
    expect(trace).toEqual([]);
  });

  it("is taken as the user of Basic, as Cursor's REST interface takes its keys", async () => {
    const { url, trace } = await setUpSim({ serveRun: NOTHING });
    const authorization = `Basic ${Buffer.from(`${KEY}:`).toString("base64")}`;
    const list = (await (await fetch(`${url}/v1/models`, { headers: { authorization } })).json()) as {
      items: { id: string }[];
    };
    expect(list.items.map(({ id }) => id)).toEqual(["excursor/local", "excursor/acp:agent"]);
    expect(trace).toEqual([]);
  });

  it("that is revoked makes its tokens invalid", async () => {
    const { url, keys } = await setUpSim({ serveRun: NOTHING });
    const { accessToken = "" } = await exchange(url, "exc_guest");
    expect((await post(url, USABLE, accessToken)).length).toBeGreaterThan(0);
    keys.delete("exc_guest");
    expect(JSON.parse((await post(url, USABLE, accessToken)).toString())).toMatchObject({ code: "unauthenticated" });
    expect((await exchange(url, "exc_guest")).status).toBe(401);
  });

  it("gets clear errors for what needs an account, and answers for what clients ask at their start", async () => {
    const { url } = await setUpFace("http://127.0.0.1:9", { serveRun: NOTHING });
    const refused = JSON.parse(
      (await post(url, "/aiserver.v1.DashboardService/CreateUserApiKey", KEY)).toString(),
    ) as object;
    expect(refused).toMatchObject({
      code: "permission_denied",
      message: expect.stringContaining("needs a Cursor account"),
      details: [{ debug: { details: { detail: expect.stringContaining("excursor/") } } }],
    });
    for (const call of ["DashboardService/ListMarketplaces", "ServerConfigService/GetServerConfig"]) {
      const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/proto" };
      expect((await fetch(`${url}/aiserver.v1.${call}`, { method: "POST", headers })).status).toBe(200);
    }
  });
});

/** Answers each run with the text of the model's name and ends it. */
const sayName: ServeRun = (peer, model) => {
  peer.listen({
    message(payload) {
      const { message } = fromBinary(AgentClientMessageSchema, payload);
      if (message.case !== "runRequest") return;
      void say(peer, `${model} for ${peer.principal.id}`);
      void send(peer, { case: "turnEnded", value: {} });
      peer.end();
    },
    gone() {},
  });
};

function send(peer: RunPeer, message: { case: string; value: object }): Promise<void> | undefined {
  const update = { case: "interactionUpdate", value: { message } };
  return peer.send(toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message: update } as never)));
}

const say = (peer: RunPeer, text: string) => send(peer, { case: "textDelta", value: { text } });

describe.each(["h2", "h1"] as const)("runs of our own models over %s", (transport) => {
  const own = (modelId: string) => ({ request: { requestedModel: { modelId } } });

  it("are answered here, for the account and for the key", async () => {
    const { connect, trace } = await setUpSim({ serveRun: sayName });
    expect(await connect(transport).say("hello", own("excursor/local"))).toMatchObject({
      text: "local for owner",
      error: undefined,
    });
    const guest = connect(transport, { token: "exc_guest" });
    expect((await guest.say("hello", own("excursor/acp:agent"))).text).toBe("acp:agent for key_guest");
    expect(trace.filter(({ kind }) => kind === "open")).toEqual([]);
  });

  it("are named here, and the account's by the backend", async () => {
    const { url, connect, trace } = await setUpSim({ serveRun: sayName });
    const name = async (userMessage: string) => {
      const headers = { authorization: `Bearer ${SIGNED_IN}`, "content-type": "application/json" };
      const body = JSON.stringify({ userMessage });
      return (await fetch(`${url}/agent.v1.AgentService/NameAgent`, { method: "POST", headers, body })).json();
    };
    await connect(transport).say("please paint the old shed in blue", own("excursor/local"));
    trace.length = 0;
    expect(await name("please paint the old shed in blue")).toEqual({ name: "please paint the old shed in" });
    expect(trace).toEqual([]);
    await name("something else");
    expect(trace).toHaveLength(1);
  });

  it.each([
    ["excursor/unknown", SIGNED_IN, "model-not-found"],
    ["excursor/local", "somebody-else", "forbidden"],
    ["composer-2.5", KEY, "forbidden"],
  ])("of %s for %s fail with %s", async (model, token, kind) => {
    const { connect } = await setUpSim({ serveRun: sayName });
    const { error, text } = await connect(transport, { token }).say("hello", own(model));
    expect([text, error?.kind]).toEqual(["", kind]);
    expect(error?.message).toContain(model);
  });

  it("get every message of the client in order, and say when the client is gone", async () => {
    const kinds: (string | undefined)[] = [];
    const gone = Promise.withResolvers<void>();
    const { connect } = await setUpSim({
      serveRun: (peer) =>
        peer.listen({
          message(payload) {
            kinds.push(fromBinary(AgentClientMessageSchema, payload).message.case);
            if (kinds.length === 1) void say(peer, "begun");
          },
          gone: () => gone.resolve(),
        }),
    });
    const controller = new AbortController();
    await connect(transport).say("hello", {
      ...own("excursor/local"),
      signal: controller.signal,
      onOpen: (sendMessage) => sendMessage({ case: "clientHeartbeat", value: {} }),
      onMessage: () => controller.abort(),
    });
    await gone.promise;
    expect(kinds.slice(0, 2)).toEqual(["runRequest", "clientHeartbeat"]);
  });

  it("that fail say so with title and detail", async () => {
    const { connect } = await setUpSim({
      serveRun: (peer) => peer.end(new ExcursorError("rate-limited", "Too much at once.", { hint: "Wait a little." })),
    });
    const { error } = await connect(transport).say("hello", own("excursor/local"));
    expect(error?.kind).toBe("rate-limited");
    expect(error?.message).toContain("Too much at once.");
  });

  it("are cut when their key is revoked", async () => {
    const { connect, keys } = await setUpSim({
      serveRun(peer) {
        peer.listen({ message: () => void say(peer, "begun"), gone() {} });
      },
    });
    const { error } = await connect(transport, { token: "exc_guest" }).say("hello", {
      ...own("excursor/local"),
      onMessage: () => void keys.delete("exc_guest"),
    });
    expect(error?.kind).toBe("unauthenticated");
  });

  it("carry ten megabytes", async () => {
    let bytes = 0;
    const { connect } = await setUpSim({
      serveRun: (peer) =>
        peer.listen({
          message(payload) {
            bytes = Math.max(bytes, payload.length);
            peer.end();
          },
          gone() {},
        }),
    });
    await connect(transport).say("x".repeat(10 << 20), own("excursor/local"));
    expect(bytes).toBeGreaterThan(10 << 20);
  });
});

it("polls of our own runs are refused with title and detail, and those of the account are passed on", async () => {
  const { url, sim } = await setUpSim({ serveRun: sayName });
  const post = async (path: string, type: string, body: Uint8Array) => {
    const headers = { authorization: `Bearer ${SIGNED_IN}`, "content-type": type };
    const response = await fetch(url + path, { method: "POST", headers, body: Buffer.from(body) });
    return Buffer.from(await response.arrayBuffer());
  };
  const poll = async (requestId: string, modelId: string) => {
    const message = { case: "runRequest" as const, value: { requestedModel: { modelId } } };
    const append = encodeAppend({ requestId, seqno: 0n, payload: encodeClientMessage(message) });
    const request = toBinary(BidiPollRequestSchema, create(BidiPollRequestSchema, { requestId: { requestId } }));
    // The poll comes first, as it may.
    const polled = post("/agent.v1.AgentService/RunPoll", "application/connect+proto", encodeFrame(request));
    await post("/aiserver.v1.BidiService/BidiAppend", "application/proto", append);
    return polled;
  };
  const refused = await poll("own-1", "excursor/local");
  expect(JSON.parse(refused.subarray(5).toString())).toMatchObject({
    error: { code: "unimplemented", details: [{ debug: { details: { title: expect.stringContaining("RunPoll") } } }] },
  });
  expect(sim.stats().unknownCalls).toBe(0);
  await poll("theirs-1", "composer-2.5");
  expect(sim.stats().unknownCalls).toBe(1);
});
