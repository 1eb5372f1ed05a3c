import { randomUUID } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { FACE_HEALTH_PATH } from "../../../src/faces/cursor/index.ts";
import { AgentService } from "../../../src/gen/agent/v1/service_pb.ts";
import { addKey, revokeKey } from "../../../src/server/gate/keys/gateway-keys.ts";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { BackendClient } from "../../sim/support/backend-client.ts";
import { type OwnNode, openOwnCluster } from "../support/own-cluster.ts";
import { hasRedis } from "../support/redis-process.ts";
import { startSplitter } from "../support/splitter.ts";

const cleanups: (() => unknown)[] = [];
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The account that is signed in at the gateways. */
const ACCOUNT = "tester";
const OWN = { requestedModel: { modelId: "excursor/demo/composer-2.5" } };

/** Three gateways for Cursor's clients. Their own model is a fourth gateway, so that scripts drive it. */
async function setUp() {
  const cluster = await openOwnCluster(defer, {}, { EXCURSOR_HOSTS: "127.0.0.1" });
  const { url } = await cluster.open("model", { EXCURSOR_CLUSTER_REDIS: "" });
  const nodes = await Promise.all(
    ["a", "b", "c"].map((name) =>
      cluster.open(name, {
        EXCURSOR_CURSOR_FACE: "true",
        EXCURSOR_CURSOR_PORT: "0",
        EXCURSOR_OPENAI_KEY: KEY,
        EXCURSOR_OPENAI_BASE_URL: `${url}/v1`,
        EXCURSOR_MODELS: JSON.stringify({ "demo/*": "openai" }),
      }),
    ),
  );
  const known = ({ log }: OwnNode) => log().split("A gateway of the cluster is reached.").length - 1;
  for (const node of nodes) await expect.poll(() => known(node), { timeout: 10_000 }).toBe(2);
  const targets = nodes.map(({ cursorUrl = "" }) => cursorUrl);
  /** Paths that the backend was asked for, but for the questions of the gateways themselves. */
  const backendPaths = () =>
    cluster.trace
      .filter(({ kind }) => kind === "request")
      .map(({ message }) => JSON.stringify(message))
      .filter((message) => /RunSSE|BidiAppend|NameAgent/.test(message));
  const split = async (first: "append" | "download") => startSplitter(defer, { targets, first });
  const connect = (address: string, token = ACCOUNT) => {
    const tools = { look: ({ at }: { at?: unknown }) => `saw ${at}` };
    const client = new BackendClient({ url: address, transport: "h1", token, tools });
    defer(() => client.close());
    return client;
  };
  return { ...cluster, nodes, targets, backendPaths, split, connect };
}

const TASK = '@sim call look {"at":"x"} ;; wait ;; call look {"at":"y"} ;; wait ;; say {{result.0}}, {{result.1}}';

/** Each test starts five programs. */
const SLOW = { timeout: 60_000 };

describe.skipIf(!hasRedis)("a run over HTTP/1.1 whose halves reach different gateways", SLOW, () => {
  describe.each(["download", "append"] as const)("the %s first", (first) => {
    it("is answered by a model of ours, and nothing of it reaches the backend", async () => {
      const { split, connect, backendPaths } = await setUp();
      const splitter = await split(first);
      const client = connect(splitter.url);
      for (let turn = 0; turn < 2; turn++) {
        const { text, error } = await client.say(TASK, { request: OWN });
        expect([text, error]).toEqual(["saw x, saw y", undefined]);
      }
      expect(backendPaths()).toEqual([]);
      expect(new Set(splitter.sent.filter(({ name }) => name === "BidiAppend").map(({ at }) => at))).toEqual(
        new Set([1, 2]),
      );
    });

    it("is passed on for a model of the account", async () => {
      const { split, connect, trace } = await setUp();
      const { url } = await split(first);
      const client = connect(url);
      for (let turn = 0; turn < 2; turn++) {
        const { text, error } = await client.say(TASK);
        expect([text, error]).toEqual(["saw x, saw y", undefined]);
      }
      expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
    });

    it("works while Redis is away", async () => {
      const { split, connect, redis, nodes } = await setUp();
      const { url } = await split(first);
      await redis.kill();
      const isDegraded = async ({ url: at }: { url: string }) => (await fetch(`${at}/readyz`)).text();
      for (const node of nodes) await expect.poll(() => isDegraded(node)).toContain("degraded");
      const own = await connect(url).say(TASK, { request: OWN });
      expect([own.text, own.error]).toEqual(["saw x, saw y", undefined]);
      const passed = await connect(url).say(TASK);
      expect([passed.text, passed.error]).toEqual(["saw x, saw y", undefined]);
    });
  });

  it("shows a refusal in the download", async () => {
    const { split, connect, backendPaths } = await setUp();
    for (const first of ["download", "append"] as const) {
      const { url } = await split(first);
      const { error } = await connect(url).say("hello", { request: { requestedModel: { modelId: "excursor/none" } } });
      expect([error?.kind, error?.message]).toEqual(["model-not-found", expect.stringContaining("excursor/none")]);
    }
    expect(backendPaths()).toEqual([]);
  });

  it("is answered to its end by a gateway that stops meanwhile (REL-47)", async () => {
    const { split, nodes } = await setUp();
    const { url } = await split("download");
    const [home] = nodes;
    const seen: unknown[] = [];
    let stopped: Promise<void> | undefined;
    const isListening = () =>
      fetch(`${home?.cursorUrl}${FACE_HEALTH_PATH}`).then(
        () => true,
        () => false,
      );
    const look = async ({ at }: { at?: unknown }) => {
      seen.push(at);
      stopped ??= home?.close();
      await expect.poll(isListening, { timeout: 10_000 }).toBe(false);
      return `saw ${at}`;
    };
    const client = new BackendClient({ url, transport: "h1", token: ACCOUNT, tools: { look } });
    defer(() => client.close());
    const { text, error } = await client.say(TASK, { request: OWN });
    expect([text, error, seen]).toEqual(["saw x, saw y", undefined, ["x", "y"]]);
    await stopped;
  });

  it("takes no message of another caller (SEC-30)", async () => {
    const { split, connect, targets, nodes } = await setUp();
    const { url, sent } = await split("download");
    const guest = await addKey(nodes[1]?.home ?? "", "guest", { account: undefined, limits: {} });
    const send = async (requestId: string) => {
      const body = encodeAppend({ requestId, seqno: 50n, payload: new Uint8Array() });
      const headers = { "content-type": "application/proto", authorization: `Bearer ${guest.reveal()}` };
      return fetch(`${targets[1]}/aiserver.v1.BidiService/BidiAppend`, { method: "POST", headers, body });
    };
    let refused: Promise<Response> | undefined;
    const onMessage = () => {
      refused ??= send(sent.find(({ name }) => name === "RunSSE")?.requestId ?? "");
    };
    const client = connect(url);
    const { text, error } = await client.say(TASK, { request: OWN, onMessage });
    expect([text, error]).toEqual(["saw x, saw y", undefined]);
    expect((await refused)?.status).toBe(403);
  });
});

const exchange = async (url: string, key: string): Promise<string> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(`${url}/auth/exchange_user_api_key`, { method: "POST", headers, body: "{}" });
  return ((await response.json()) as { accessToken: string }).accessToken;
};

describe.skipIf(!hasRedis)("gateways of a cluster, for Cursor's clients", SLOW, () => {
  it("take each other's tokens until the key is revoked, which also ends its runs (SEC-09)", async () => {
    const { targets, nodes } = await setUp();
    const [home = "", other = ""] = nodes.map((node) => node.home);
    const key = (await addKey(home, "guest", { account: undefined, limits: {} })).reveal();
    const statuses = (token: string) =>
      Promise.all(
        targets.map(
          async (at) => (await fetch(`${at}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status,
        ),
      );
    await expect.poll(() => statuses(key), { timeout: 5000 }).toEqual([200, 200, 200]);
    const token = await exchange(targets[0] ?? "", key);
    expect(await statuses(token)).toEqual([200, 200, 200]);
    const called = Promise.withResolvers<void>();
    const look = () => {
      called.resolve();
      return new Promise<string>(() => {});
    };
    const client = new BackendClient({ url: targets[2] ?? "", transport: "h1", token, tools: { look } });
    defer(() => client.close());
    const run = client.say(TASK, { request: OWN });
    await called.promise;
    await revokeKey(other, "guest");
    await expect.poll(() => statuses(token), { timeout: 5000 }).toEqual([401, 401, 401]);
    expect((await run).error?.kind).toBe("unauthenticated");
  });

  it("name conversations of models of ours, whichever gateway is asked", async () => {
    const { targets, connect, backendPaths } = await setUp();
    const { input, output } = AgentService.method.nameAgent;
    const name = async (userMessage: string) => {
      const body = toBinary(input, create(input, { userMessage }));
      const headers = { "content-type": "application/proto", authorization: `Bearer ${ACCOUNT}` };
      const response = await fetch(`${targets[2]}/agent.v1.AgentService/NameAgent`, { method: "POST", headers, body });
      return fromBinary(output, new Uint8Array(await response.arrayBuffer())).name;
    };
    const message = `@sim say ok ${randomUUID()}`;
    expect((await connect(targets[0] ?? "").say(message, { request: OWN })).error).toBeUndefined();
    expect(await name(message)).toMatch(/^@sim say ok/);
    expect(backendPaths()).toEqual([]);
    await name("a message of the account");
    expect(backendPaths()).toHaveLength(1);
  });
});
