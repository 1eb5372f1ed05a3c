import { createServer as createH1, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createH2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AgentService, NameAgentRequestSchema, NameAgentResponseSchema } from "../../../src/gen/agent/v1/service_pb.ts";
import { callHeaders } from "../../../src/wire/agent/headers.ts";
import { callUnary, requestJson, type UnaryOptions } from "../../../src/wire/connect/unary.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import type { HttpTransport } from "../../../src/wire/http/http.ts";

type Serve = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  body: Buffer,
) => void;

const open: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const method = AgentService.method.nameAgent;
type Options = UnaryOptions<typeof NameAgentRequestSchema, typeof NameAgentResponseSchema>;

async function setUp(
  version: 1 | 2,
  serve: Serve,
): Promise<Pick<Options, "transport" | "origin" | "method" | "headers">> {
  const respond = async (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    serve(request, response, Buffer.concat(chunks));
  };
  const server = version === 1 ? createH1(respond) : createH2(respond);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const transport: HttpTransport = version === 1 ? createHttp1Transport() : createConnectionPool();
  open.push(() => {
    transport.destroy();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { transport, origin, method, headers: callHeaders("unary-proto", { token: "s3cret" }) };
}

/** A response of either version, whose types agree on this much. */
function send(
  response: ServerResponse | Http2ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: Uint8Array | string = "",
): void {
  (response as ServerResponse).writeHead(status, headers);
  (response as ServerResponse).end(body);
}

const proto = { "content-type": "application/proto" };
const json = { "content-type": "application/json" };
const named = (name: string) => toBinary(NameAgentResponseSchema, create(NameAgentResponseSchema, { name }));

describe.each([1, 2] as const)("callUnary over HTTP/%i", (version) => {
  test("protobuf: a bare message each way", async () => {
    const seen: unknown[] = [];
    const options = await setUp(version, (request, response, body) => {
      seen.push([request.method, request.url, request.headers["content-type"], body.toString("hex")]);
      send(response, 200, proto, named("Title"));
    });
    const answer = await callUnary({ ...options, input: { userMessage: "hi" } });
    expect(answer.name).toBe("Title");
    expect(seen).toEqual([["POST", "/agent.v1.AgentService/NameAgent", "application/proto", "0a026869"]]);
  });

  test("an empty message is an empty body, both ways", async () => {
    const seen: unknown[] = [];
    const options = await setUp(version, (request, response, body) => {
      seen.push([request.headers["content-length"], body.length]);
      send(response, 200, proto);
    });
    expect((await callUnary({ ...options, input: {} })).name).toBe("");
    expect(seen).toEqual([["0", 0]]);
  });

  test("Connect JSON, by option or by header, lenient towards new fields", async () => {
    const seen: unknown[] = [];
    const options = await setUp(version, (request, response, body) => {
      seen.push([request.headers["content-type"], body.toString()]);
      send(response, 200, { "content-type": "application/json; charset=utf-8" }, '{"name":"T","brandNew":{"a":1}}');
    });
    const input = { userMessage: "hi" };
    expect((await callUnary({ ...options, input, codec: "json" })).name).toBe("T");
    expect((await callUnary({ ...options, input, headers: callHeaders("unary-json", { token: "t" }) })).name).toBe("T");
    const body = toJsonString(NameAgentRequestSchema, create(NameAgentRequestSchema, input));
    expect(seen).toEqual([
      ["application/json", body],
      ["application/json", body],
    ]);
  });

  test("gzip is undone, within bounds; anything else is refused", async () => {
    const bodies: Array<[string, Uint8Array]> = [
      ["gzip", gzipSync(named("Packed"))],
      ["gzip", gzipSync(Buffer.alloc(2_000_000))],
      ["gzip", Buffer.from("nonsense")],
      ["br", named("x")],
      ["gzip, gzip", gzipSync(gzipSync(named("x")))],
    ];
    const options = await setUp(version, (_, response) => {
      const [encoding, body] = bodies.shift() ?? ["", Buffer.alloc(0)];
      send(response, 200, { ...proto, "content-encoding": encoding }, body);
    });
    const call = () => callUnary({ ...options, input: {}, limits: { maxInflatedBytes: 1_000_000 } });
    expect((await call()).name).toBe("Packed");
    await expect(call()).rejects.toMatchObject({ code: "inflate_too_large" });
    await expect(call()).rejects.toMatchObject({ code: "gzip_invalid" });
    await expect(call()).rejects.toMatchObject({ code: "unknown_encoding" });
    await expect(call()).rejects.toMatchObject({ code: "unknown_encoding" });
  });

  test.each<[name: string, status: number, headers: Record<string, string>, body: string, code: string]>([
    ["a Connect error", 401, json, '{"code":"unauthenticated","message":"no"}', "unauthenticated"],
    ["415", 415, {}, "", "media_type_refused"],
    ["429", 429, { "retry-after": "2" }, "", "rate_limited"],
    ["a page", 502, { "content-type": "text/html" }, "<html>", "upstream_failed"],
    ["an endless page", 502, { "content-type": "text/html" }, "x".repeat(700_000), "upstream_failed"],
    ["a redirect", 307, { location: "http://127.0.0.1:9/" }, "", "redirected"],
    ["a wrong type", 200, json, "{}", "unexpected_content_type"],
    ["no type", 200, {}, "", "unexpected_content_type"],
    ["bytes that are no message", 200, proto, "\u000f\u000f\u000f", "message_invalid"],
    ["too long an answer", 200, proto, "x".repeat(3000), "body_too_large"],
  ])("REL-23: %s", async (_, status, headers, body, code) => {
    const options = await setUp(version, (_request, response) => send(response, status, headers, body));
    const call = callUnary({ ...options, input: {}, limits: { maxBodyBytes: 2000 } });
    await expect(call).rejects.toMatchObject({ name: "ExcursorError", code });
  });

  test("time runs out, and an AbortSignal cuts it short", async () => {
    let requests = 0;
    const options = await setUp(version, () => requests++);
    const call = callUnary({ ...options, input: {}, timeoutMs: 40 });
    await expect(call).rejects.toMatchObject({ kind: "timeout", code: "call_timeout" });
    const controller = new AbortController();
    const cancelled = callUnary({ ...options, input: {}, signal: controller.signal });
    await vi.waitFor(() => expect(requests).toBe(2));
    controller.abort();
    await expect(cancelled).rejects.toMatchObject({ kind: "canceled" });
    await expect(callUnary({ ...options, input: {}, signal: controller.signal })).rejects.toMatchObject({
      kind: "canceled",
    });
  });

  test("a connection that is cut", async () => {
    const options = await setUp(version, (request) => void request.socket.destroy());
    await expect(callUnary({ ...options, input: {} })).rejects.toMatchObject({ kind: "upstream-unavailable" });
  });

  test("a header that cannot be sent fails the call, not the process", async () => {
    const options = await setUp(version, (_, response) => send(response, 200, proto));
    const headers = { ...options.headers, "x bad": "v" };
    await expect(callUnary({ ...options, headers, input: {} })).rejects.toMatchObject({ kind: "internal" });
    expect((await callUnary({ ...options, input: {} })).name).toBe("");
  });

  test("1,000 calls, eight at a time", async () => {
    const options = await setUp(version, (_, response, body) => send(response, 200, proto, body));
    const lane = async (lane: number): Promise<void> => {
      for (let n = 0; n < 125; n++) {
        const { name } = await callUnary({ ...options, input: { userMessage: `${lane}.${n}` } });
        expect(name).toBe(`${lane}.${n}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, n) => lane(n)));
  });

  test("requestJson: POST with a body, GET without", async () => {
    const seen: unknown[] = [];
    const { transport, origin } = await setUp(version, (request, response, body) => {
      seen.push([request.method, request.url, request.headers["content-type"], body.toString()]);
      if (request.url === "/broken") send(response, 200, json, "{");
      else if (request.url === "/pending") send(response, 404, {}, "");
      else send(response, 200, json, '{"ok":true}');
    });
    const call = (path: string, body?: unknown) => requestJson({ transport, origin, path, headers: {}, body });
    expect(await call("/auth/poll?uuid=1")).toEqual({ ok: true });
    expect(await call("/oauth/token", { a: 1 })).toEqual({ ok: true });
    await expect(call("/broken")).rejects.toMatchObject({ code: "json_invalid" });
    await expect(call("/pending")).rejects.toMatchObject({ kind: "not-found", context: { status: 404 } });
    expect(seen.slice(0, 2)).toEqual([
      ["GET", "/auth/poll?uuid=1", undefined, ""],
      ["POST", "/oauth/token", "application/json", '{"a":1}'],
    ]);
  });
});
