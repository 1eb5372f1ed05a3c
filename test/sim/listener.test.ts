import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as requestTls } from "node:https";
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ConversationActionSchema } from "../../src/gen/agent/v1/action_pb.ts";
import { AgentClientMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { makeCertificate } from "../wire/support/certificate.ts";
import { setUp } from "./support/transports.ts";

/** One raw request, and all that comes back. */
async function raw(port: number, ...chunks: string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    answer += chunk;
  });
  await once(socket, "connect");
  for (const chunk of chunks) {
    socket.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await once(socket, "close");
  return answer;
}

describe("one port for both versions of HTTP", () => {
  it("serves HTTP/1.1, even if the first bytes dribble in", async () => {
    const { sim } = await setUp("h1");
    const answer = await raw(
      sim.port,
      "P",
      "O",
      "ST /v1/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });

  it("serves HTTP/2 by prior knowledge", async () => {
    const { sim } = await setUp("h2");
    const session = connectHttp2(sim.url);
    const stream = session.request({ ":path": "/nowhere" });
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(404);
    session.close();
  });

  it.each(["//", "http://[", "//a:99999/x", "/%", "*", "/?"])(
    "survives the request target %j (SEC-29)",
    async (target) => {
      const { sim } = await setUp("h1");
      expect(await raw(sim.port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 4\d\d /,
      );
    },
  );

  it("keeps idle connections for longer than a busy client leaves them alone", async () => {
    const { sim } = await setUp("h1");
    const [{ headers }] = await once(
      request(`${sim.url}/nowhere`, { headers: { connection: "keep-alive" } }).end(),
      "response",
    );
    expect(headers["keep-alive"]).toBe("timeout=65");
  });

  it("closes at once although clients keep idle connections open", async () => {
    const { sim } = await setUp("h1");
    await (await fetch(`${sim.url}/v1/models`, { headers: { authorization: "Bearer x" } })).text();
    const start = performance.now();
    await sim.close(60_000);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it("answers with the status where the download comes before its first upload", async () => {
    const { sim } = await setUp("h1");
    const headers = { authorization: "Bearer tester", "content-type": "application/connect+proto" };
    const download = request(`${sim.url}/agent.v1.AgentService/RunSSE`, { method: "POST", headers });
    download.end(Buffer.from([0, 0, 0, 0, 4, 10, 2, 114, 49]));
    await once(download, "finish");
    const action = { case: "userMessageAction" as const, value: { userMessage: { text: "@sim fail http=503" } } };
    const message = create(AgentClientMessageSchema, {
      message: { case: "runRequest", value: { action: create(ConversationActionSchema, { action }) } },
    });
    const data = Buffer.from(toBinary(AgentClientMessageSchema, message)).toString("hex");
    const upload = create(BidiAppendRequestSchema, { data, requestId: { requestId: "r1" } });
    await fetch(`${sim.url}/aiserver.v1.BidiService/BidiAppend`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/proto" },
      body: Buffer.from(toBinary(BidiAppendRequestSchema, upload)),
    });
    const [response] = await once(download, "response");
    expect(response.statusCode).toBe(503);
    response.resume();
  });

  it("listens on loopback only (SEC-01)", async () => {
    const { sim } = await setUp("h1");
    expect(sim.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });

  it("does not serve pages of other sites (SEC-06)", async () => {
    const { sim } = await setUp("h1");
    const ask = (origin: string) => fetch(`${sim.url}/v1/models`, { headers: { origin, authorization: "Bearer x" } });
    for (const origin of [
      "https://evil.example",
      "null",
      "http://localhost:1@evil.example",
      "http://127.0.0.1.evil.example",
    ]) {
      const { status, headers } = await ask(origin);
      expect([origin, status, headers.get("access-control-allow-origin")]).toEqual([origin, 403, null]);
    }
    expect((await ask("http://localhost:3000")).status).toBe(200);
  });

  it("answers HTTP/1.1 on the bidirectional method with 464, a wrong content type with 415, a bad token on the stream", async () => {
    const { sim } = await setUp("h1");
    const post = (path: string, type: string, token = "x") =>
      fetch(`${sim.url}${path}`, {
        method: "POST",
        headers: { "content-type": type, authorization: `Bearer ${token}` },
        body: "",
      });
    expect((await post("/agent.v1.AgentService/Run", "application/connect+proto")).status).toBe(464);
    expect((await post("/agent.v1.AgentService/RunSSE", "application/proto")).status).toBe(415);
    expect((await post("/aiserver.v1.BidiService/BidiAppend", "application/connect+proto")).status).toBe(415);
    const refused = await post("/agent.v1.AgentService/RunSSE", "application/connect+proto", "invalid-x");
    expect(refused.status).toBe(200);
    expect(await refused.text()).toContain('"code":"unauthenticated"');
  });

  it("speaks grpc-web on RunSSE to those who ask so", async () => {
    const { sim } = await setUp("h1");
    const response = await fetch(`${sim.url}/agent.v1.AgentService/RunSSE`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto", authorization: "Bearer invalid" },
      body: Buffer.from([0, 0, 0, 0, 4, 10, 2, 114, 49]),
    });
    expect(response.headers.get("content-type")).toBe("application/grpc-web+proto");
    const body = Buffer.from(await response.arrayBuffer());
    expect(body[0]).toBe(0x80);
    expect(body.subarray(5).toString()).toContain("grpc-status: 16\r\n");
  });
});

describe("over TLS", () => {
  it("serves runs over HTTP/2 by ALPN and over the HTTP/1.1 pair on the same port", async () => {
    const certificate = makeCertificate("127.0.0.1");
    const tls = { cert: certificate.cert.toString(), key: certificate.key.toString() };
    const { sim, connect: client } = await setUp("h2", { ca: tls.cert }, { tls });
    expect(sim.url).toMatch(/^https:/);
    expect((await client().say("@sim say hello")).text).toBe("hello");
    expect((await client({ transport: "h1" }).say("@sim say hello")).text).toBe("hello");
    const idle = requestTls(`${sim.url}/nowhere`, { ca: tls.cert, headers: { connection: "keep-alive" } }).end();
    expect((await once(idle, "response"))[0].headers["keep-alive"]).toBe("timeout=65");
  });
});
