import { createServer as createH1 } from "node:http";
import { createServer as createH2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { AgentService } from "../../src/gen/agent/v1/service_pb.ts";
import { BidiService } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { ErrorDetailsSchema } from "../../src/gen/aiserver/v1/error_pb.ts";
import { decodeDelta } from "../../src/wire/agent/delta.ts";
import { callHeaders } from "../../src/wire/agent/headers.ts";
import { BidiRun } from "../../src/wire/connect/bidi-run.ts";
import { openSseRun } from "../../src/wire/connect/sse-run.ts";
import { callUnary } from "../../src/wire/connect/unary.ts";
import { createConnectionPool } from "../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { Recorder } from "./support/listener.ts";

/** Somebody else's server, so that we do not only agree with ourselves. */
const say = (text: string) =>
  create(AgentServerMessageSchema, {
    message: { case: "interactionUpdate", value: { message: { case: "textDelta", value: { text } } } },
  });
const heartbeat = toBinary(
  AgentClientMessageSchema,
  create(AgentClientMessageSchema, { message: { case: "clientHeartbeat", value: {} } }),
);
const LONG = "lorem ipsum ".repeat(20_000);

const appended = new Map<string, string[]>();

function routes({ service }: ConnectRouter): void {
  service(AgentService, {
    nameAgent({ userMessage }) {
      if (userMessage === "fail") throw new ConnectError("nope", Code.PermissionDenied);
      return { name: `About ${userMessage}` };
    },
    async *run(requests) {
      let n = 0;
      for await (const request of requests) {
        yield say(`${++n}: ${request.message.case}`);
        if (n === 2) yield say(LONG);
        if (n === 3) return;
      }
    },
    async *runSSE({ requestId }) {
      yield say(`hello ${requestId}`);
      const details = create(ErrorDetailsSchema, { error: 50, details: { title: "Slow down", detail: "Too fast" } });
      throw new ConnectError("Error", Code.ResourceExhausted, { "retry-after": "5" }, [
        { desc: ErrorDetailsSchema, value: details },
      ]);
    },
  });
  service(BidiService, {
    bidiAppend({ requestId, data, appendSeqno }) {
      const id = requestId?.requestId ?? "";
      appended.set(id, [...(appended.get(id) ?? []), `${appendSeqno}:${data}`]);
      return {};
    },
  });
}

const adapter = connectNodeAdapter({ routes, acceptCompression: [compressionGzip], compressMinBytes: 500 });
const servers = { h1: createH1(adapter), h2: createH2(adapter) };
const transports = { h1: createHttp1Transport(), h2: createConnectionPool() };
const origins = { h1: "", h2: "" };

beforeAll(async () => {
  for (const version of ["h1", "h2"] as const) {
    const server = servers[version];
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origins[version] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});

afterAll(async () => {
  for (const version of ["h1", "h2"] as const) {
    await transports[version].close();
    servers[version].close();
  }
});

describe.each(["h1", "h2"] as const)("connect-node's server over %s", (version) => {
  test.each(["unary-proto", "unary-json"] as const)("%s", async (kind) => {
    const options = {
      transport: transports[version],
      origin: origins[version],
      headers: callHeaders(kind, { token: "t" }),
      method: AgentService.method.nameAgent,
    };
    const codec = kind === "unary-json" ? "json" : "proto";
    expect((await callUnary({ ...options, codec, input: { userMessage: "cats" } })).name).toBe("About cats");
    expect((await callUnary({ ...options, codec, input: { userMessage: LONG } })).name).toHaveLength(LONG.length + 6);
    await expect(callUnary({ ...options, codec, input: { userMessage: "fail" } })).rejects.toMatchObject({
      kind: "forbidden",
      message: "nope",
      context: { connectCode: "permission_denied", status: 403 },
    });
  });

  test.each([false, true])("a server stream that ends in an error with details, gzip %j", async (acceptGzip) => {
    const listener = new Recorder();
    const requestId = `${version}-${acceptGzip}`;
    const caller = { token: "t", requestId, acceptGzip };
    const texts: Array<string | undefined> = [];
    listener.onMessage = (payload) => texts.push(decodeDelta(payload)?.text);
    const run = openSseRun({
      transport: transports[version],
      origin: origins[version],
      requestId,
      headers: callHeaders("run-sse", caller),
      appendHeaders: callHeaders("append", caller),
      listener,
    });
    run.send(heartbeat);
    const { error, end } = await listener.outcome();
    expect(texts).toEqual([`hello ${requestId}`]);
    expect(error).toMatchObject({ kind: "rate-limited", message: "Slow down: Too fast", retryAfterMs: 5000 });
    expect(end.metadata["retry-after"]).toEqual(["5"]);
  });
});

test.each([false, true])("a bidirectional run over h2, gzip %j", async (acceptGzip) => {
  const listener = new Recorder();
  const texts: string[] = [];
  listener.onMessage = (payload) => {
    texts.push(decodeDelta(payload)?.text ?? "?");
    if (texts.length !== 2) run.send(heartbeat);
  };
  const run = new BidiRun({
    transport: transports.h2,
    origin: origins.h2,
    headers: callHeaders("run", { token: "t", requestId: "r", acceptGzip }),
    listener,
  });
  run.send(heartbeat);
  expect(await listener.result()).toBe("ok");
  expect(texts).toEqual(["1: clientHeartbeat", "2: clientHeartbeat", LONG, "3: clientHeartbeat"]);
});
