import { spawn } from "node:child_process";
import { text as readAll } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { createFaceContext } from "../../src/app/face-context.ts";
import { startBridge } from "../../src/app/start-bridge.ts";
import type { Limits } from "../../src/config/limits.ts";
import { createEngine } from "../../src/core/engine/engine.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Message } from "../../src/core/turn.ts";
import { createImageLoader } from "../../src/media/image-loader.ts";
import { createLog } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { Admission } from "../../src/server/gate/admission.ts";
import type { Gateway } from "../../src/server/gateway-options.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { type StageOptions, setUpAgent } from "../drivers/acp/support/agent-stage.ts";
import { rawRequest } from "../server/support/raw.ts";
import { type BridgeLine, readLines } from "../server/support/read-lines.ts";
import { DEFAULT_LIMITS } from "../support/default-limits.ts";

const KEY = "exc_test-key-of-the-bridge-0123456789";
const IDE = "vscode-file://vscode-app";
const HEADERS = { authorization: `Bearer ${KEY}`, "x-excursor-bridge": "1", "content-type": "application/json" };

const bridges: Gateway[] = [];
afterEach(async () => {
  for (const bridge of bridges.splice(0)) await bridge.close(0);
});

/** The smallest PNG there is. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function setUp(
  options: StageOptions = {},
  memory: Map<string, string> = new Map(),
  { isCompatible = false, limits = {} }: { isCompatible?: boolean; limits?: Partial<Limits> } = {},
) {
  const stage = setUpAgent(options);
  const engine = createEngine({ drivers: new Map([["acp", stage.driver]]), route: () => "acp" });
  const redactor = createRedactor();
  const logged: string[] = [];
  const log = createLog({ level: "debug", redactor, write: (text) => logged.push(text), isPretty: false });
  const given = { ...DEFAULT_LIMITS, ...limits };
  const faceContext = createFaceContext({
    engine,
    images: createImageLoader({ mode: "fetch" }),
    log,
    state: await openStateDatabase(":memory:"),
    sealSecret: new Secret("the secret of the tests"),
    limits: given,
  });
  const keyValues = () => ({
    get: (key: string) => memory.get(key),
    set: (key: string, value: string) => void memory.set(key, value),
    delete: (key: string) => void memory.delete(key),
  });
  const bridge = await startBridge({
    port: 0,
    key: new Secret(KEY),
    limits: given,
    admission: new Admission({ limits: given }),
    isCompatible,
    engine,
    faceContext: { ...faceContext, stores: { ...faceContext.stores, keyValues } },
    log,
    redactor,
  });
  bridges.push(bridge);
  const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(bridge.url + path, {
      method,
      headers: { ...HEADERS, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  return {
    ...stage,
    port: bridge.port,
    logged,
    call,
    post: async (path: string, body: object) =>
      (await call("POST", path, body)).json() as Promise<Record<string, unknown>>,
    send: (message: string, more: object = {}) =>
      call("POST", "/acp/sendMessage", { provider: "test", message, composerId: "c1", stream: true, ...more }),
  };
}

const textOf = (lines: readonly BridgeLine[]) =>
  lines.map((line) => (line.type === "text" ? line["content"] : "")).join("");

describe("the bridge", () => {
  it("streams an answer as lines of JSON", async () => {
    const { send } = await setUp();
    const response = await send("think hm ;;tool Read a ;;plan Look ;;say hello");
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    const lines = await Array.fromAsync(readLines(response));
    expect(lines).toMatchObject([
      { type: "thought", content: "hm", seq: 0 },
      { type: "thought", content: "", durationMs: expect.any(Number), seq: 1 },
      { type: "tool", sessionUpdate: "tool_call", title: "Read a", kind: "read", status: "pending" },
      { type: "tool", sessionUpdate: "tool_call_update", title: "Read a", kind: "read", status: "completed" },
      { type: "plan", entries: [{ content: "Look" }] },
      { type: "text", content: "hello" },
      { type: "done", stopReason: "end_turn", usage: expect.anything() },
    ]);
  });

  it("gives the whole answer as a completion to whoever does not stream", async () => {
    const { send } = await setUp();
    const response = await send("say hello", { stream: false, provider: { id: "Test (ACP)", command: "rm" } });
    expect(await response.json()).toMatchObject({
      id: expect.stringMatching(/^acp-\d+$/),
      object: "chat.completion",
      model: "acp:test",
      choices: [{ message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
    });
  });

  it("keeps the history of each composer, whose agent keeps its session", async () => {
    const { send, notes } = await setUp();
    const ask = async (message: string, composerId = "c1") =>
      textOf(await Array.fromAsync(readLines(await send(message, { composerId }))));
    const first = await ask("session");
    expect(await ask("session")).toBe(first);
    expect(await ask("session", "c2")).not.toBe(first);
    expect(JSON.parse(await ask("received"))).toEqual([{ type: "text", text: "received" }]);
    expect(notes().filter((line) => line.startsWith("new"))).toHaveLength(2);
  });

  it("remembers conversations when it is started again, and not those that it was told to forget", async () => {
    const memory = new Map<string, string>();
    const before = await setUp({}, memory);
    for (const composerId of ["c1", "c2"]) await (await before.send("say blue", { composerId })).text();
    await before.call("DELETE", "/acp/session/c2");
    const after = await setUp({}, memory);
    const ask = async (composerId: string) =>
      textOf(await Array.fromAsync(readLines(await after.send("received", { composerId }))));
    expect(await ask("c1")).toContain("User: say blue\\n\\nAssistant: blue");
    expect(await ask("c2")).not.toContain("blue");
  });

  it("brings images to an agent that takes them, within the limits, and keeps no bytes of them", async () => {
    const memory = new Map<string, string>();
    const { send, call } = await setUp({ flags: ["--images"] }, memory, { limits: { images: 2 } });
    const data = `data:image/png;base64,${PNG}`;
    const received = async (more: object) =>
      JSON.parse(textOf(await Array.fromAsync(readLines(await send("received", more)))));
    const image = { type: "image", mimeType: "image/png", data: PNG };
    expect(await received({ images: [data, { mimeType: "image/png", data: PNG }] })).toEqual([
      image,
      image,
      { type: "text", text: "received" },
    ]);
    expect(await received({ message: [image, { type: "text", text: "received" }] })).toEqual([
      image,
      { type: "text", text: "received" },
    ]);
    const kept = JSON.parse(memory.get('["owner","c1"]') ?? "{}") as { messages: Message[] };
    expect(kept.messages[2]?.content).toEqual([
      { type: "text", text: "[an image]\n" },
      { type: "text", text: "received" },
    ]);
    for (const images of [[data, data, data], ["https://example.org/a.png"], ["data:image/png;base64,AAAA"]]) {
      const refused = await send("received", { images });
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ error: true, message: expect.stringContaining("image") });
    }
    expect(await (await call("GET", "/acp/providers")).json()).toMatchObject({
      providers: [{ capabilities: { supportsImages: true } }],
    });
  });

  it("announces no images once an agent has said that it takes none", async () => {
    const { send, call } = await setUp();
    const refused = await send("received", { images: [`data:image/png;base64,${PNG}`] });
    expect(await refused.json()).toMatchObject({
      error: true,
      message: expect.stringContaining("does not accept images"),
    });
    expect(await (await call("GET", "/acp/providers")).json()).toMatchObject({
      providers: [{ capabilities: { supportsImages: false } }],
    });
  });

  it("names the files that were attached, in every form that an editor has for them", async () => {
    const { send } = await setUp({ flags: ["--images"] });
    const references = [
      "file:///p/a.ts",
      { uri: "file:///p/b.ts", range: { start: { line: 2, character: 0 }, end: { line: 4, character: 1 } } },
      { uri: { $mid: 1, scheme: "file", path: "/p/c d.ts", fsPath: "/p/c d.ts" }, name: "c d.ts" },
      { uri: "file:///p/e.ts", text: "let e" },
    ];
    const message = [
      { type: "resource_link", uri: "file:///p/f.ts", name: "f.ts" },
      { type: "resource", resource: { uri: "file:///p/g.ts", text: "let g" } },
      { type: "text", text: "received" },
    ];
    const lines = await Array.fromAsync(readLines(await send("", { message, references })));
    expect(JSON.parse(textOf(lines))).toMatchObject([
      { type: "text", text: "[@a.ts](file:///p/a.ts)\n" },
      { type: "text", text: "[@b.ts](file:///p/b.ts#L3-L5)\n" },
      { type: "text", text: "[@c d.ts](file:///p/c%20d.ts)\n" },
      { type: "resource", resource: { text: "let e" } },
      { type: "text", text: "[@f.ts](file:///p/f.ts)\n" },
      { type: "resource", resource: { text: "let g" } },
      { type: "text", text: "received" },
    ]);
  });

  it("finds an agent whatever its capitals: the IDE has small letters only", async () => {
    const { send, call } = await setUp({ name: "My-Agent" });
    for (const provider of ["my-agent", "My-Agent", "acp:MY-AGENT", { id: "My Agent (ACP)" }]) {
      expect((await send("say hi", { provider, stream: false })).status).toBe(200);
    }
    expect((await call("GET", "/acp/getSlashCommands?providerId=my-agent")).status).toBe(200);
  });

  it("begins sessions, tells commands and providers, and forgets", async () => {
    const { post, call, logged } = await setUp();
    const commands = [{ name: "review", description: "Look at it" }];
    const init = await post("/acp/initSession", { provider: { id: "test" }, composerId: "c1" });
    expect(init).toMatchObject({ sessionId: expect.any(String), commands });
    expect(await post("/acp/getSession", { provider: "test", composerId: "c1" })).toEqual({
      sessionId: init["sessionId"],
    });
    expect(await (await call("GET", "/acp/getSlashCommands?providerId=test")).json()).toEqual(commands);
    expect(await (await call("GET", "/acp/providers")).json()).toMatchObject({
      providers: [{ id: "test", displayName: "Test", model: "acp:test" }],
    });
    expect(await (await call("GET", "/acp/health")).json()).toMatchObject({ name: "excursor", protocol: 1 });
    expect(await (await call("DELETE", "/acp/session/c1")).json()).toEqual({ deleted: true });
    expect(await post("/acp/getSession", { provider: "test", composerId: "c1" })).not.toEqual({
      sessionId: init["sessionId"],
    });
    await post("/acp/log", { level: "warn", message: "from the page" });
    await expect.poll(() => logged.join("")).toContain("from the page");
  });

  it("lets the user answer a permission request", async () => {
    const { send, post, call } = await setUp();
    const lines: BridgeLine[] = [];
    for await (const line of readLines(await send("permission edit"))) {
      lines.push(line);
      if (line.type !== "permission") continue;
      expect(line).toMatchObject({ title: "May I edit?", toolCall: { kind: "edit" } });
      expect(line["options"]).toContainEqual({ id: "yes", name: "Yes", kind: "allow_once" });
      expect(await post("/acp/permission", { requestId: line["requestId"], optionId: "yes" })).toEqual({ ok: true });
    }
    expect(textOf(lines)).toBe("yes");
    expect((await call("POST", "/acp/permission", { requestId: "none" })).status).toBe(404);
  });

  it("cancels an answer, and goes on in the same session", async () => {
    const { send, post, noted } = await setUp();
    const response = await send("session ;;wait");
    await noted("waiting");
    expect((await send("say too early")).status).toBe(503);
    expect(await post("/acp/cancel", { composerId: "c1" })).toEqual({ cancelled: true });
    const lines = await Array.fromAsync(readLines(response));
    expect(lines.at(-1)).toMatchObject({ type: "done", stopReason: "cancelled" });
    const again = await Array.fromAsync(readLines(await send("session")));
    expect(textOf(again)).toBe(textOf(lines));
  });

  it("cancels when the client leaves", async () => {
    const { call, noted } = await setUp();
    const leave = new AbortController();
    const response = await fetch((await call("GET", "/acp/health")).url.replace("health", "sendMessage"), {
      method: "POST",
      headers: HEADERS,
      signal: leave.signal,
      body: JSON.stringify({ provider: "test", message: "say hi ;;wait", composerId: "c1", stream: true }),
    });
    await response.body?.getReader().read();
    await noted("waiting");
    leave.abort();
    await noted("cancel");
  });

  it("says in a line why an answer broke off, and in a status why there is none", async () => {
    const { send } = await setUp();
    const lines = await Array.fromAsync(readLines(await send("say half ;;crash")));
    expect(lines.at(-1)).toMatchObject({ type: "error", code: "agent_exited" });
    const none = await send("say hi", { provider: "nobody" });
    expect(none.status).toBe(404);
    expect(await none.json()).toMatchObject({ error: true, code: "model_not_found" });
    const bad = await send("", { composerId: 7 });
    expect(bad.status).toBe(400);
    expect(await bad.json()).toMatchObject({ error: true, message: expect.stringMatching(/^(message|composerId): /) });
  });
});

describe("who may call the bridge (SEC-45)", () => {
  it("no page of another origin, nor one without the token or the header", async () => {
    const { call, post, notes, port } = await setUp();
    const status = async (headers: Record<string, string>) =>
      (await call("POST", "/acp/sendMessage", { provider: "test", message: "say hi", composerId: "c" }, headers))
        .status;
    expect(await status({ origin: "https://evil.example" })).toBe(403);
    expect(await status({ origin: "null" })).toBe(403);
    expect(await status({ origin: "vscode-file://vscode-app.evil" })).toBe(403);
    expect(await status({ origin: IDE, authorization: "Bearer wrong" })).toBe(403);
    expect(await status({ origin: IDE, authorization: "" })).toBe(403);
    expect(await status({ origin: IDE, "content-type": "text/plain" })).toBe(415);
    const rebound = [
      "GET /acp/health HTTP/1.1",
      "host: evil.example",
      ...Object.entries(HEADERS).map((pair) => pair.join(": ")),
    ];
    expect((await rawRequest(port, rebound)).status).toBe(421);
    const head = ["POST /acp/sendMessage HTTP/1.1", `host: 127.0.0.1:${port}`, `authorization: Bearer ${KEY}`];
    expect(
      await rawRequest(port, [...head, "content-type: application/json", "content-length: 2"], "{}"),
    ).toMatchObject({ status: 403, body: expect.stringContaining("x-excursor-bridge") });
    expect(notes()).toEqual([]);
    expect(await post("/acp/getSession", { provider: "test", composerId: "c" })).toHaveProperty("sessionId");
  });

  it.skipIf(process.platform !== "linux")(
    "with compat the editor's own page without a key or header, and nobody else",
    async () => {
      const { port, notes } = await setUp({}, new Map(), { isCompatible: true });
      const body = JSON.stringify({ provider: "test", message: "say hi", composerId: "c" });
      const status = async (headers: Readonly<Record<string, string>>, host = `localhost:${port}`) => {
        const lines = Object.entries({ "content-type": "application/json", ...headers, host });
        const head = ["POST /acp/sendMessage HTTP/1.1", ...lines.map((pair) => pair.join(": "))];
        return (await rawRequest(port, [...head, `content-length: ${body.length}`], body)).status;
      };
      expect(await status({ origin: "https://evil.example" })).toBe(403);
      expect(await status({ origin: "null" })).toBe(403);
      expect(await status({ origin: "vscode-file://vscode-app.evil" })).toBe(403);
      expect(await status({ origin: "vscode-webview://1234" })).toBe(403);
      expect(await status({ origin: `http://localhost:${port}` })).toBe(403);
      expect(await status({})).toBe(403);
      expect(await status({ "x-excursor-bridge": "1" })).toBe(403);
      expect(await status({ origin: IDE, authorization: "Bearer wrong" })).toBe(403);
      expect(await status({ origin: IDE, "content-type": "text/plain" })).toBe(415);
      expect(await status({ origin: IDE }, "evil.example")).toBe(421);
      expect(await status({ origin: IDE }, `evil.example:${port}`)).toBe(421);
      expect(notes()).toEqual([]);
      expect(await status({ origin: IDE })).toBe(200);
      expect(await status({ authorization: `Bearer ${KEY}`, "x-excursor-bridge": "1" })).toBe(200);
    },
  );

  it("gives leave to the IDE's page alone, and lets it read", async () => {
    const { call } = await setUp();
    const asked = { "access-control-request-method": "POST", "access-control-request-headers": "x-excursor-bridge" };
    const leave = await call("OPTIONS", "/acp/sendMessage", undefined, { ...asked, origin: IDE });
    expect(leave.status).toBe(204);
    expect(leave.headers.get("access-control-allow-origin")).toBe(IDE);
    expect(leave.headers.get("access-control-allow-headers")).toContain("x-excursor-bridge");
    const refused = await call("OPTIONS", "/acp/sendMessage", undefined, { ...asked, origin: "https://evil.example" });
    expect(refused.status).toBe(403);
    expect(refused.headers.get("access-control-allow-origin")).toBeNull();
    expect((await call("OPTIONS", "/acp/sendMessage")).status).toBe(403);
    const read = await call("GET", "/acp/health", undefined, { origin: IDE });
    expect(read.headers.get("access-control-allow-origin")).toBe(IDE);
  });

  it("offers nothing but chat: no path that runs, reads or sets anything, and no model's API", async () => {
    const { call } = await setUp();
    for (const path of ["/v1/models", "/v1/chat/completions", "/acp/config", "/acp/terminal", "/acp/setMode"]) {
      expect((await call("GET", path)).status).toBe(404);
    }
  });

  it.skipIf(process.platform !== "linux" || process.getuid?.() !== 0).each([
    ["with the key", HEADERS, false],
    ["with compat and the editor's origin", { origin: IDE }, true],
  ])("no other user of this machine, %s", async (_, given, isCompatible) => {
    const { port } = await setUp({}, new Map(), { isCompatible });
    const headers = Object.entries(given).map(([name, value]) => `${name}: ${value}\\r\\n`);
    const request = `GET /acp/health HTTP/1.1\\r\\nhost: 127.0.0.1:${port}\\r\\nconnection: close\\r\\n${headers.join("")}\\r\\n`;
    const ask = async (uid: number) => {
      const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf '${request}' >&3; cat <&3`;
      const child = spawn("bash", ["-c", script], { uid, gid: uid, stdio: ["ignore", "pipe", "ignore"] });
      return readAll(child.stdout);
    };
    expect(await ask(65_534)).toMatch(/^HTTP\/1.1 403 [\s\S]*other_user/);
    expect(await ask(0)).toMatch(/^HTTP\/1.1 200 /);
  });
});
