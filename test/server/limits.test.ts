import { describe, expect, it } from "vitest";
import { isDeeperThan } from "../../src/core/json/json-depth.ts";
import { WrongKeys } from "../../src/server/gate/keys/wrong-keys.ts";
import { chatBody, KEY, postChat, startTestGateway } from "./support/gateway.ts";
import { RawConnection, rawRequest, readAnswer } from "./support/raw.ts";

const AUTH = `authorization: Bearer ${KEY}`;
const POST = ["POST /v1/chat/completions HTTP/1.1", "Host: localhost", AUTH, "content-type: application/json"];
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

describe("bodies", () => {
  it.each([
    [127, "messages"],
    [128, "messages"],
    [129, "nested more than 128 levels"],
    [10_000, "nested more than 128 levels"],
    [1_000_000, "nested more than 128 levels"],
  ])("%d levels are answered with 400", async (depth, message) => {
    const gateway = await startTestGateway();
    const body = chatBody().replace(/\[.*\]/, nested(depth - 1));
    const answer = await postChat(gateway, {}, { body });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(message);
  });

  it.each([
    ["", "not valid JSON"],
    ["{", "not valid JSON"],
    ['{"a": secret-text}', "not valid JSON"],
    ["\ufeff{}", "not valid JSON"],
    ["[]", ""],
    ["null", ""],
    ['{"__proto__": {"x": 1}}', ""],
  ])("%j is answered with 400", async (body, message) => {
    const gateway = await startTestGateway();
    const answer = await postChat(gateway, {}, { body });
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text).toContain(message);
    expect(text).not.toContain("secret-text");
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it.each([
    ["at once", (body: string) => [body]],
    ["in pieces", (body: string) => [body.slice(0, 10), body.slice(10, 11), body.slice(11)]],
  ])("of the largest size are read, and one byte more is refused: %s", async (_, cut) => {
    const gateway = await startTestGateway({ limits: { bodyBytes: 1000 } });
    for (const [size, status] of [
      [1000, 200],
      [1001, 413],
    ] as const) {
      const client = new RawConnection(gateway.port);
      client.send(`${[...POST, "transfer-encoding: chunked", "connection: close"].join("\r\n")}\r\n\r\n`);
      const pieces = cut(chatBody().padEnd(size));
      client.send(`${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("")}0\r\n\r\n`);
      if (status === 200) (await gateway.engine.next()).finish();
      expect(readAnswer(await client.closed()).status).toBe(status);
    }
  });

  it("too large by its own account is refused before it is read", async () => {
    const { port } = await startTestGateway({ limits: { bodyBytes: 1000 } });
    const connection = new RawConnection(port).send(`${[...POST, "content-length: 1001"].join("\r\n")}\r\n\r\n`);
    expect(await connection.until("body_too_large")).toContain("413");
    connection.socket.destroy();
  });

  it("too large as it comes is refused, and an endless one is cut off", async () => {
    const { port, engine } = await startTestGateway({ limits: { bodyBytes: 1000 } });
    const connection = new RawConnection(port);
    connection.send(`${[...POST, "transfer-encoding: chunked"].join("\r\n")}\r\n\r\n`);
    const chunk = `200\r\n${"x".repeat(512)}\r\n`;
    connection.send(chunk).send(chunk);
    expect(await connection.until("body_too_large")).toContain("HTTP/1.1 413");
    const endless = setInterval(() => connection.send(chunk), 1);
    await connection.closed();
    clearInterval(endless);
    expect(engine.answers).toHaveLength(0);
  });

  it("a client that asks for leave gets it only behind the gate", async () => {
    const gateway = await startTestGateway();
    const body = chatBody();
    const expecting = (...head: string[]) =>
      new RawConnection(gateway.port).send(
        `${[...head, "expect: 100-continue", `content-length: ${body.length}`].join("\r\n")}\r\n\r\n`,
      );
    const refused = expecting("POST /v1/chat/completions HTTP/1.1", "Host: localhost");
    expect(await refused.closed()).toMatch(/^HTTP\/1\.1 401/);
    const allowed = expecting(...POST, "connection: close");
    await allowed.until("100 Continue");
    allowed.send(body);
    (await gateway.engine.next()).finish();
    expect(await allowed.closed()).toContain("HTTP/1.1 200 OK");
  });

  it("the connection of a refused request is good for the next one", async () => {
    const { port } = await startTestGateway();
    const connection = new RawConnection(port);
    const body = "x".repeat(5000);
    connection.send(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\ncontent-length: 5000\r\n\r\n${body}`);
    await connection.until("request_id");
    connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n");
    expect(await connection.closed()).toContain('{"status":"ok"}');
  });
});

describe("depth", () => {
  it.each([
    ['{"a":"[[[[[["}', 1, false],
    ['{"a":"\\"[[[[[["}', 1, false],
    ['{"a":"\\\\","b":[[]]}', 2, true],
    ['["\\\\\\"[[[", [[]]]', 2, true],
    ['"[[[', 0, false],
    ['"\\', 0, false],
    ["]]]][[", 1, false],
  ])("%s is deeper than %d: %s", (json, limit, isDeeper) => {
    expect(isDeeperThan(Buffer.from(json), limit)).toBe(isDeeper);
  });
});

describe("what one key may have under way", () => {
  it("streams", async () => {
    const gateway = await startTestGateway({ limits: { streamsPerKey: 1 } });
    const first = postChat(gateway, { stream: true });
    const answer = await gateway.engine.next();
    const second = await postChat(gateway, { stream: true });
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await second.json()).toMatchObject({ error: { type: "rate_limit_error", code: "too_many_concurrent" } });
    expect(gateway.engine.answers).toEqual([answer]);
    answer.finish();
    await (await first).text();
    const third = postChat(gateway, { stream: true });
    (await gateway.engine.next()).finish();
    expect((await third).status).toBe(200);
  });

  it("requests; another's key is not concerned", async () => {
    const gateway = await startTestGateway({ limits: { requestsPerKey: 1 } });
    const first = postChat(gateway);
    const answer = await gateway.engine.next();
    expect((await postChat(gateway)).status).toBe(429);
    const token = `eyJ${"a".repeat(30)}.${"b".repeat(40)}.${"c".repeat(43)}`;
    const other = postChat(gateway, {}, { headers: { authorization: `Bearer ${token}` } });
    (await gateway.engine.next()).finish();
    expect((await other).status).toBe(200);
    answer.finish();
    expect((await first).status).toBe(200);
  });
});

describe("wrong keys", () => {
  it("eleven different ones in a minute are too many; a client's retries of one are not", () => {
    let now = 0;
    const wrong = new WrongKeys(10, () => now);
    for (let retry = 0; retry < 50; retry++) expect(wrong.refuse("a", "stuck").status).toBe(401);
    for (let guess = 0; guess < 4; guess++) expect(wrong.refuse("a", `${guess}`).status).toBe(401);
    expect(wrong.refuse("a", "one more")).toMatchObject({ status: 429, code: "too_many_wrong_keys" });
    expect(Number(wrong.refuse("a", "stuck").headers["retry-after"])).toBeGreaterThan(0);
    expect(wrong.refuse("b", "x").status).toBe(401);
    now = 60_001;
    expect(wrong.refuse("a", "one more").status).toBe(401);
  });

  it("never keep the right one waiting", async () => {
    const { url } = await startTestGateway();
    const models = (key: string) => fetch(`${url}/v1/models`, { headers: { "x-api-key": key } });
    const statuses: number[] = [];
    for (let guess = 0; guess < 12; guess++) statuses.push((await models(`guess-${guess}`)).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect((await models(KEY)).status).toBe(200);
  });
});

describe("headers", () => {
  it("too many are refused, not forgotten", async () => {
    const { port } = await startTestGateway({ limits: { headerCount: 20 } });
    const many = Array.from({ length: 30 }, (_, index) => `x-${index}: 1`);
    expect((await rawRequest(port, ["GET /healthz HTTP/1.1", "Host: localhost", ...many])).status).toBe(431);
    expect((await rawRequest(port, ["GET /healthz HTTP/1.1", "Host: localhost", ...many.slice(11)])).status).toBe(431);
    expect((await rawRequest(port, ["GET /healthz HTTP/1.1", "Host: localhost", ...many.slice(12)])).status).toBe(200);
  });

  it("too large ones are refused", async () => {
    const { port } = await startTestGateway();
    const head = ["GET /healthz HTTP/1.1", "Host: localhost", `x: ${"y".repeat(17_000)}`];
    expect((await rawRequest(port, head)).status).toBe(431);
  });

  it("slow ones end the connection", async () => {
    const { port } = await startTestGateway({ limits: { headersTimeoutMs: 50 } });
    const connection = new RawConnection(port).send("GET /healthz HTTP/1.1\r\nHost: loc");
    expect(await connection.closed()).toMatch(/^HTTP\/1\.1 408/);
  });

  it("a slow body ends it too", async () => {
    const { port, engine } = await startTestGateway({ limits: { headersTimeoutMs: 50, bodyTimeoutMs: 50 } });
    const connection = new RawConnection(port).send(`${[...POST, "content-length: 100"].join("\r\n")}\r\n\r\n{`);
    await connection.closed();
    expect(engine.answers).toHaveLength(0);
  });

  const smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  it.each([
    [
      "both lengths",
      `${POST.join("\r\n")}\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      "two lengths",
      `${POST.join("\r\n")}\r\ncontent-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`,
    ],
    ["a length that is none", `${POST.join("\r\n")}\r\ncontent-length: +5\r\n\r\n${smuggled}`],
    ["an odd transfer encoding", `${POST.join("\r\n")}\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
    [
      "chunked before something else",
      `${POST.join("\r\n")}\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    ["a bare line feed", `GET /healthz HTTP/1.1\nHost: localhost\n\n${smuggled}`],
    ["a folded header", `GET /healthz HTTP/1.1\r\nHost: localhost\r\nx: a\r\n b\r\n\r\n${smuggled}`],
    ["a space before the colon", `GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n${smuggled}`],
    ["a bare carriage return", `GET /healthz HTTP/1.1\r\nHost: localhost\r\nx: a\rb\r\n\r\n${smuggled}`],
    [
      "a chunk size that is none",
      `${POST.join("\r\n")}\r\ntransfer-encoding: chunked\r\n\r\n0x4\r\nabcd\r\n0\r\n\r\n${smuggled}`,
    ],
  ])("%s: refused, and what follows is not read as a request", async (_, text) => {
    const { port } = await startTestGateway();
    const received = await new RawConnection(port).send(text).closed();
    expect(received).toMatch(/^HTTP\/1\.1 400/);
    expect(received).not.toContain('{"status":"ok"}');
  });
});
