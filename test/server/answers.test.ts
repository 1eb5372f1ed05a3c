import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../src/core/errors.ts";
import { ignoredNotice } from "../../src/core/notices/ignored.ts";
import { chatBody, KEY, postChat, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { RawConnection } from "./support/raw.ts";

const head = (extra: readonly string[] = [], body = chatBody({ stream: true })): string =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    "Host: localhost",
    `authorization: Bearer ${KEY}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...extra,
    "",
    body,
  ].join("\r\n");

const ask = (gateway: TestGateway, extra?: readonly string[], body?: string) =>
  new RawConnection(gateway.port).send(head(extra, body));

/** The texts of the chunks, joined. */
const said = (sse: string): string =>
  [...sse.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, json = ""]) => JSON.parse(json) as { choices?: { delta: { content?: string } }[] })
    .map(({ choices }) => choices?.[0]?.delta.content ?? "")
    .join("");

describe("a streamed answer", () => {
  it("comes batch by batch, each as it is given", async () => {
    const gateway = await startTestGateway();
    const connection = ask(gateway);
    const answer = await gateway.engine.next();
    expect(connection.received).toBe("");
    answer.say("one ", "two ");
    await connection.until("two ");
    answer.say("three");
    await connection.until("three");
    expect(connection.received).not.toContain("[DONE]");
    answer.finish();
    const text = await connection.until("0\r\n\r\n");
    expect(text).toContain("content-type: text/event-stream");
    expect(said(text)).toBe("one two three");
    expect(text).toContain("data: [DONE]");
    connection.socket.destroy();
  });

  it("is told the request's id, and what was ignored", async () => {
    const gateway = await startTestGateway();
    const request = postChat(gateway, { stream: true, verbosity: "low" }, { headers: { "x-request-id": "my-id.1" } });
    const answer = await gateway.engine.next();
    answer.events(ignoredNotice("temperature"), ignoredNotice("effort"));
    answer.finish();
    const { headers } = await request;
    expect(headers.get("x-request-id")).toBe("my-id.1");
    expect(headers.get("x-excursor-ignored")).toBe("verbosity, temperature, reasoning_effort");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  it.each(["", "a b", "x".repeat(65), "é", "<script>"])("the id %j is replaced", async (id) => {
    const { url } = await startTestGateway();
    const { headers } = await fetch(`${url}/healthz`, { headers: { "x-request-id": id } });
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    [new ExcursorError("unauthenticated", "No."), 401],
    [new ExcursorError("model-not-found", "No."), 404],
    [new ExcursorError("rate-limited", "No.", { retryAfterMs: 2500 }), 429],
    [new ExcursorError("upstream-unavailable", "No."), 503],
    [new Error("secret detail"), 500],
  ])("that fails before anything was shown keeps its status: %s", async (error, status) => {
    const gateway = await startTestGateway();
    for (const stream of [true, false]) {
      const request = postChat(gateway, { stream });
      const answer = await gateway.engine.next();
      answer.events({ type: "notice", code: "note", text: "not for the client" });
      answer.fail(error);
      const response = await request;
      expect([stream, response.status]).toEqual([stream, status]);
      expect(response.headers.get("content-type")).toContain("application/json");
      if (status === 429) expect(response.headers.get("retry-after")).toBe("3");
      const text = await response.text();
      expect(text).not.toContain("secret detail");
      expect(JSON.parse(text)).toMatchObject({ error: {}, request_id: response.headers.get("x-request-id") });
    }
  });

  it("that fails later ends with the dialect's error and no sign of success", async () => {
    const gateway = await startTestGateway();
    const request = postChat(gateway, { stream: true }, { headers: { "x-request-id": "late" } });
    const answer = await gateway.engine.next();
    answer.say("half a");
    const response = await request;
    answer.fail(new ExcursorError("upstream-failed", `It broke, with ${KEY}.`));
    const text = await response.text();
    expect(text).toContain('"code":"upstream_error"');
    expect(text).not.toContain("[DONE]");
    expect(text).not.toContain('finish_reason":"stop');
    expect(text).not.toContain(KEY);
    expect(await gateway.logged("late")).toMatchObject({ status: 200, error: "upstream_error", level: "warn" });
  });

  it("that just stops is an error, streamed or whole", async () => {
    const gateway = await startTestGateway();
    const streamed = postChat(gateway, { stream: true });
    const answer = await gateway.engine.next();
    answer.say("half a");
    answer.breakOff();
    const text = await (await streamed).text();
    expect(text).toContain("answer_broke_off");
    expect(text).not.toContain("[DONE]");
    const whole = postChat(gateway);
    (await gateway.engine.next()).breakOff();
    expect((await whole).status).toBe(502);
  });

  it("is kept alive by comments through a silence, which spend the status", async () => {
    const gateway = await startTestGateway({ limits: { keepAliveMs: 20 } });
    const connection = ask(gateway);
    const answer = await gateway.engine.next();
    await connection.until(": keep-alive\n\n", 3);
    expect(connection.received).toContain("HTTP/1.1 200");
    answer.say("at last");
    await connection.until("at last");
    answer.fail(new ExcursorError("rate-limited", "No."));
    expect(await connection.until("rate_limit_exceeded")).not.toContain("HTTP/1.1 429");
    connection.socket.destroy();
  });

  it("is held back while the reader does not read, and its neighbours are not", async () => {
    const gateway = await startTestGateway();
    const slow = ask(gateway);
    const answer = await gateway.engine.next();
    answer.say("begin");
    await slow.until("begin");
    slow.socket.pause();
    const batch = "x".repeat(64 * 1024);
    const batches = 500;
    for (let index = 0; index < batches; index++) answer.say(`${batch}${index};`);
    answer.finish();
    const neighbour = postChat(gateway, { stream: true });
    const other = await gateway.engine.next();
    other.say("fine");
    other.finish();
    expect(said(await (await neighbour).text())).toBe("fine");
    expect(answer.pulls).toBeLessThan(batches);
    slow.socket.resume();
    slow.socket.end();
    const text = await slow.closed();
    expect([...said(text).matchAll(/(\d+);/g)].map(([, index]) => Number(index))).toEqual(
      Array.from({ length: batches }, (_, index) => index),
    );
  });

  it.each(["/v1/chat/completions", "/api/chat"])(
    "is given up when its reader takes nothing for too long: %s",
    async (path) => {
      const gateway = await startTestGateway({ limits: { stalledReaderMs: 50 } });
      const stalled = new RawConnection(gateway.port).send(
        head(["x-request-id: stalled"]).replace("/v1/chat/completions", path),
      );
      const answer = await gateway.engine.next();
      answer.say("begin");
      await stalled.until("begin");
      stalled.socket.pause();
      const batches = 500;
      for (let index = 0; index < batches; index++) answer.say("x".repeat(64 * 1024));
      expect(await answer.aborted).toMatchObject({ kind: "canceled" });
      expect(answer.pulls).toBeLessThan(batches);
      expect(await gateway.logged("stalled")).toMatchObject({ status: 499, error: "client_gone" });
      stalled.socket.destroy();
    },
  );
});

describe("a client that goes away", () => {
  it.each([
    ["before the first token of a stream", true, 0],
    ["in the middle of a stream", true, 1],
    ["waiting for a whole answer", false, 0],
    ["in the middle of a whole answer", false, 1],
  ])("%s: the engine is told", async (_, stream, batches) => {
    const gateway = await startTestGateway();
    const controller = new AbortController();
    const request = postChat(gateway, { stream }, { signal: controller.signal, headers: { "x-request-id": "gone" } });
    request.catch(() => {});
    const answer = await gateway.engine.next();
    for (let index = 0; index < batches; index++) answer.say("something");
    if (stream && batches > 0) await request;
    controller.abort();
    expect(await answer.aborted).toMatchObject({ kind: "canceled", code: "client_gone" });
    expect(await gateway.logged("gone")).toMatchObject({ status: 499, error: "client_gone" });
  });

  it("with a reset: at once", async () => {
    const gateway = await startTestGateway();
    const connection = ask(gateway);
    const answer = await gateway.engine.next();
    connection.socket.resetAndDestroy();
    await answer.aborted;
  });

  it("before it has sent its whole body: nothing is asked of the engine", async () => {
    const gateway = await startTestGateway();
    const connection = new RawConnection(gateway.port).send(
      head().replace("content-length: ", "x-request-id: cut\r\ncontent-length: 9"),
    );
    connection.socket.end();
    await connection.closed();
    await gateway.logged("cut");
    expect(gateway.engine.answers).toHaveLength(0);
  });
});

describe("a client that has only finished asking", () => {
  it.each([true, false])("is answered (streamed: %s)", async (stream) => {
    const gateway = await startTestGateway();
    const connection = ask(gateway, [], chatBody({ stream }));
    const answer = await gateway.engine.next();
    connection.socket.end();
    // The gateway has seen the end and looks whether anybody is there.
    await connection.until("102 Processing", 2);
    answer.say("still there");
    if (stream) await connection.until("still there");
    answer.finish();
    const text = await connection.closed();
    expect(text).toContain("HTTP/1.1 200 OK");
    expect(text).toContain("still there");
    expect(answer.context.signal.aborted).toBe(false);
  });

  it("in the middle of a stream is probed by comments", async () => {
    const gateway = await startTestGateway();
    const connection = ask(gateway);
    const answer = await gateway.engine.next();
    answer.say("begin");
    await connection.until("begin");
    connection.socket.end();
    await connection.until(": keep-alive", 2);
    answer.finish();
    expect(await connection.closed()).toContain("[DONE]");
  });

  it("keeps the status of an early error", async () => {
    const gateway = await startTestGateway();
    const connection = ask(gateway);
    const answer = await gateway.engine.next();
    connection.socket.end();
    await connection.until("102 Processing");
    answer.fail(new ExcursorError("rate-limited", "No."));
    expect(await connection.closed()).toContain("HTTP/1.1 429");
  });
});

describe("the log", () => {
  it("has one line a request, with its figures and none of its words", async () => {
    const gateway = await startTestGateway();
    const request = postChat(gateway, {}, { headers: { "x-request-id": "figures" } });
    const answer = await gateway.engine.next();
    answer.say("the answer's words");
    answer.finish();
    await (await request).text();
    const line = await gateway.logged("figures");
    expect(line).toMatchObject({
      level: "info",
      principal: "owner",
      method: "POST",
      route: "/v1/chat/completions",
      model: "some-model",
      status: 200,
      inputTokens: 7,
      outputTokens: 5,
    });
    for (const figure of ["durationMs", "firstEventMs", "bytes"]) expect(line[figure]).toBeGreaterThan(0);
    expect(JSON.stringify(gateway.log)).not.toMatch(/hello|words/);
  });

  it("does not take a note on what is ignored for the first of the answer", async () => {
    const gateway = await startTestGateway();
    const request = postChat(gateway, {}, { headers: { "x-request-id": "unheard" } });
    const answer = await gateway.engine.next();
    answer.events(ignoredNotice("temperature"));
    answer.fail(new ExcursorError("rate-limited", "No."));
    await (await request).text();
    expect(await gateway.logged("unheard")).not.toHaveProperty("firstEventMs");
  });
});
