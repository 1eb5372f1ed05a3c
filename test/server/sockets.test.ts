import { createConnection } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ExcursorError } from "../../src/core/errors.ts";
import { KEY, startTestGateway } from "./support/gateway.ts";
import { RawConnection, readAnswer } from "./support/raw.ts";
import { connect } from "./support/socket-client.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

const DONE = "response.completed";
const typesOf = (messages: readonly { readonly type: string }[]) => messages.map(({ type }) => type);

describe("a WebSocket at /v1/responses", () => {
  it("carries the events of several responses, one after the other, as messages", async () => {
    const gateway = await startTestGateway();
    const client = await connect(gateway);
    for (const text of ["one", "two"]) {
      client.create({ input: text });
      const answer = await gateway.engine.next();
      expect(answer.turn.messages).toEqual([{ role: "user", content: [{ type: "text", text }] }]);
      answer.say("a", "data: b\n\nevent: c");
      answer.finish();
      const messages = await client.until(DONE);
      expect(typesOf(messages)).toEqual([
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        DONE,
      ]);
      expect(messages.find(({ type }) => type === "response.output_text.done")).toMatchObject({
        text: "adata: b\n\nevent: c",
      });
      expect(messages.map((message) => message["sequence_number"])).toEqual(messages.map((_, index) => index));
    }
  });

  it("goes on from the last answer, although the client does not want it stored", async () => {
    const gateway = await startTestGateway();
    const client = await connect(gateway);
    let previous: string | undefined;
    for (const text of ["one", "two", "three"]) {
      client.create({ input: text, store: false, ...(previous && { previous_response_id: previous }) });
      const answer = await gateway.engine.next();
      answer.say(`re ${text}`);
      answer.finish();
      const { response } = await client.last(DONE);
      previous = (response as { readonly id: string }).id;
    }
    const said = gateway.engine.answers.at(-1)?.turn.messages.map(({ role, content }) => [role, content]);
    expect(said).toEqual(
      ["one", "re one", "two", "re two", "three"].map((text, index) => [
        index % 2 === 0 ? "user" : "assistant",
        [{ type: "text", text }],
      ]),
    );
    const other = await connect(gateway);
    other.create({ previous_response_id: previous });
    expect(await other.last("error")).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
  });

  it("answers a request that only warms up without asking the model, and goes on from that", async () => {
    const gateway = await startTestGateway();
    const client = await connect(gateway);
    const developer = { type: "message", role: "developer", content: "be brief" };
    client.create({ generate: false, store: false, input: [developer] });
    const { response } = await client.last(DONE);
    expect(response).toMatchObject({ status: "completed", output: [], usage: { total_tokens: 0 } });
    expect(gateway.engine.answers).toHaveLength(0);
    client.create({ previous_response_id: (response as { readonly id: string }).id });
    const answer = await gateway.engine.next();
    expect(answer.turn).toMatchObject({ system: "be brief", messages: [{ role: "user" }] });
  });

  it("says what is wrong with a message, and takes the next one", async () => {
    const gateway = await startTestGateway({ limits: { jsonDepth: 10 } });
    const client = await connect(gateway);
    const cases: readonly [unknown, object][] = [
      ["{", { status: 400, error: { code: "invalid_json" } }],
      ["[]", { status: 400, error: { code: "invalid_message" } }],
      ["[".repeat(11) + "]".repeat(11), { status: 400, error: { code: "json_too_deep" } }],
      [{ type: "response.cancel" }, { status: 400, error: { code: "unknown_message_type", param: "type" } }],
      [{ model: "some-model" }, { status: 400, error: { code: "unknown_message_type", param: "type" } }],
      [
        { type: "response.create", model: "some-model", generate: 1 },
        { status: 400, error: { param: "generate" } },
      ],
      [
        { type: "response.create", model: "some-model", stream_id: "a" },
        { status: 400, error: { param: "stream_id" } },
      ],
      [
        { type: "response.create", input: 1 },
        { status: 400, error: { param: "model" } },
      ],
      [
        { type: "response.create", model: "m", background: true },
        { status: 400, error: { param: "background" } },
      ],
    ];
    for (const [message, error] of cases) {
      client.send(message);
      expect(await client.last("error")).toMatchObject({ type: "error", ...error });
    }
    client.create();
    const answer = await gateway.engine.next();
    answer.fail(new ExcursorError("rate-limited", "Too quick.", { retryAfterMs: 2000 }));
    expect(await client.last("error")).toMatchObject({ status: 429, headers: { "retry-after": "2" } });
    client.create();
    const broken = await gateway.engine.next();
    broken.say("half");
    broken.fail(new ExcursorError("upstream-failed", "It broke."));
    expect(await client.last("response.failed")).toMatchObject({ response: { status: "failed" } });
  });

  it("answers one message at a time", async () => {
    const gateway = await startTestGateway();
    const client = await connect(gateway);
    client.create();
    const answer = await gateway.engine.next();
    answer.say("a");
    await client.until("response.output_text.delta");
    client.create();
    expect(await client.last("error")).toMatchObject({ status: 400, error: { code: "response_in_progress" } });
    answer.say("b");
    answer.finish();
    await client.until(DONE);
    expect(gateway.engine.answers).toHaveLength(1);
  });

  it("cancels the answer when the client disconnects", async () => {
    const gateway = await startTestGateway();
    const client = await connect(gateway, { "x-request-id": "mine" });
    client.create();
    const answer = await gateway.engine.next();
    answer.say("a");
    await client.until("response.output_text.delta");
    client.webSocket.terminate();
    await answer.aborted;
    expect(await gateway.logged("mine.1")).toMatchObject({
      method: "MESSAGE",
      route: "/v1/responses",
      status: 499,
      error: "client_gone",
    });
    expect(await gateway.logged("mine")).toMatchObject({ method: "GET", status: 101 });
  });
});

describe("the upgrade", () => {
  it.each([
    ["no key", { authorization: "" }, 401, "missing_api_key"],
    ["a wrong key", { authorization: "Bearer wrong" }, 401, "invalid_api_key"],
    ["a foreign page", { origin: "https://evil.example" }, 403, undefined],
    ["a foreign host", { host: "evil.example" }, 421, undefined],
  ])("is refused over HTTP in the dialect: %s (SEC-05, SEC-07)", async (_, headers, status, code) => {
    const gateway = await startTestGateway();
    const refusal = await connect(gateway, headers).catch((error) => error);
    expect(refusal).toMatchObject({ status });
    expect(JSON.parse(refusal.body)).toMatchObject({ error: { message: expect.any(String) } });
    if (code) expect(JSON.parse(refusal.body).error.code).toBe(code);
  });

  it.each([
    ["no key", ["sec-websocket-version: 13"]],
    ["a short key", ["sec-websocket-version: 13", "sec-websocket-key: abcd"]],
    ["another version", ["sec-websocket-version: 7", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="]],
  ])("is refused with its code if the handshake is invalid: %s", async (_, fields) => {
    const { port } = await startTestGateway();
    const head = ["GET /v1/responses HTTP/1.1", "host: localhost", `authorization: Bearer ${KEY}`];
    const upgrade = ["connection: Upgrade", "upgrade: websocket", ...fields];
    const client = new RawConnection(port).send(`${[...head, ...upgrade].join("\r\n")}\r\n\r\n`);
    const { status, body } = readAnswer(await client.closed());
    expect([status, JSON.parse(body)]).toMatchObject([400, { error: { code: "bad_handshake" } }]);
  });

  it("gets 426 at once where WebSockets are off, and 426 without an upgrade", async () => {
    const off = await startTestGateway({ websocket: "off" });
    const refusal = await connect(off).catch((error) => error);
    expect(refusal).toMatchObject({ status: 426, headers: { upgrade: "websocket" } });
    const on = await startTestGateway();
    const plain = await fetch(`${on.url}/v1/responses`, { headers: { authorization: `Bearer ${KEY}` } });
    expect([plain.status, await plain.json()]).toMatchObject([426, { error: { code: "upgrade_required" } }]);
  });

  it("is ignored elsewhere: other paths answer over HTTP", async () => {
    const gateway = await startTestGateway();
    expect(await connect(gateway, {}, "/v1/models").catch((error) => error)).toMatchObject({ status: 200 });
    expect(await connect(gateway, {}, "/nowhere").catch((error) => error)).toMatchObject({ status: 404 });
    const response = await fetch(`${gateway.url}/healthz`, {
      headers: { connection: "upgrade", upgrade: "h2c" },
    }).catch(() => undefined);
    if (response) expect(response.status).toBe(200);
  });

  it("is limited for each key (SEC-36)", async () => {
    const gateway = await startTestGateway({ limits: { socketsPerKey: 1 } });
    const client = await connect(gateway);
    expect(await connect(gateway).catch((error) => error)).toMatchObject({ status: 429 });
    client.webSocket.close();
    await client.closed;
    await vi.waitFor(async () => void (await connect(gateway)), 5000);
  });
});

describe("the end of a WebSocket", () => {
  it("has code 1003 for a binary message", async () => {
    const client = await connect(await startTestGateway());
    client.webSocket.send(Buffer.from("{}"), { binary: true });
    expect(await client.closed).toMatchObject({ code: 1003 });
  });

  it("has code 1009 for a message that is too large", async () => {
    const client = await connect(await startTestGateway({ limits: { bodyBytes: 1000 } }));
    client.create({ input: "x".repeat(1001) });
    expect(await client.closed).toMatchObject({ code: 1009 });
  });

  it.each([
    ["an unmasked frame", [0x81, 0x02, 0x7b, 0x7d], 1002],
    ["a reserved opcode", [0x83, 0x80, 0, 0, 0, 0], 1002],
    ["a continuation of nothing", [0x80, 0x80, 0, 0, 0, 0], 1002],
    ["text that is not UTF-8", [0x81, 0x81, 0, 0, 0, 0, 0xff], 1007],
  ])("has a code for malformed frames: %s", async (_, bytes, code) => {
    const gateway = await startTestGateway();
    const socket = createConnection(gateway.port, "127.0.0.1");
    const received: Buffer[] = [];
    socket.on("data", (chunk) => received.push(chunk));
    const ended = new Promise((resolve) => socket.once("close", resolve));
    socket.write(
      `GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\nauthorization: Bearer ${KEY}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    await vi.waitFor(() => expect(Buffer.concat(received).toString("latin1")).toContain("\r\n\r\n"));
    const head = Buffer.concat(received).length;
    socket.write(Buffer.from(bytes));
    await vi.waitFor(() => expect(Buffer.concat(received).length).toBeGreaterThan(head + 3));
    const close = Buffer.concat(received).subarray(head);
    expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, code]);
    socket.end();
    await ended;
  });

  it("has code 1000 after a long idleness, which an answer interrupts", async () => {
    const gateway = await startTestGateway({ limits: { socketIdleMs: 100 } });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const client = await connect(gateway);
    client.create();
    const answer = await gateway.engine.next();
    vi.advanceTimersByTime(1000);
    answer.say("still here");
    answer.finish();
    await client.until(DONE);
    vi.advanceTimersByTime(99);
    expect(client.webSocket.readyState).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await client.closed).toEqual({ code: 1000, reason: "idle" });
  });

  it("has code 1001 when the gateway stops, after the answer in progress", async () => {
    const gateway = await startTestGateway();
    const [idle, busy] = [await connect(gateway), await connect(gateway)];
    busy.create();
    const answer = await gateway.engine.next();
    answer.say("a");
    await busy.until("response.output_text.delta");
    const stopped = gateway.close(10_000);
    expect(await idle.closed).toMatchObject({ code: 1001 });
    answer.say("b");
    answer.finish();
    expect(await busy.last(DONE)).toMatchObject({ response: { status: "completed" } });
    expect(await busy.closed).toMatchObject({ code: 1001 });
    await stopped;
  });

  it("stops reading the upstream for a client that does not read, and disconnects it", async () => {
    const gateway = await startTestGateway({ limits: { stalledReaderMs: 300, writeBufferBytes: 16 * 1024 } });
    const client = await connect(gateway);
    client.create();
    const answer = await gateway.engine.next();
    answer.say("a");
    await client.until("response.output_text.delta");
    client.webSocket.pause();
    const piece = "x".repeat(256 * 1024);
    for (let index = 0; index < 200; index++) answer.say(piece);
    await answer.aborted;
    expect(answer.pulls).toBeLessThan(150);
  });
});

it("keeps the memory of one connection constant over 100 responses", async () => {
  const gateway = await startTestGateway();
  const client = await connect(gateway);
  const ask = async (count: number) => {
    for (let index = 0; index < count; index++) {
      client.create({ store: false, input: "x".repeat(100_000) });
      const answer = await gateway.engine.next();
      answer.say("y".repeat(100_000));
      answer.finish();
      await client.until(DONE);
      client.forget();
      gateway.engine.forget();
    }
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = await ask(20);
  const after = await ask(100);
  // The conversation of one response is remembered: 200 kB. A hundred would be 20 MB.
  expect(after - before).toBeLessThan(4e6);
});
