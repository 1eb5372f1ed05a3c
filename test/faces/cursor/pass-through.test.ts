import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  request as http1Request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { type ClientHttp2Stream, connect as http2Connect, type ServerOptions } from "node:http2";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { encodeClientMessage } from "../../../src/wire/agent/messages.ts";
import { encodeFrame } from "../../../src/wire/connect/envelope.ts";
import type { ServerExchange } from "../../../src/wire/http/server-exchange.ts";
import { ServerExchange as Exchange } from "../../../src/wire/http/server-exchange.ts";
import { listenForBoth } from "../../../src/wire/http/server-listener.ts";
import { setUpFace, setUpSim } from "./support/stage.ts";

/** A backend that answers as the test says. */
async function startBackend(
  onExchange: (exchange: ServerExchange) => void,
  http2: ServerOptions = {},
): Promise<string> {
  const listener = await listenForBoth({
    host: "127.0.0.1",
    port: 0,
    http2,
    onRequest: (request, response) => onExchange(new Exchange(request, response)),
  });
  onTestFinished(() => {
    listener.destroy();
    return listener.close();
  });
  return `http://127.0.0.1:${listener.port}`;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
  readonly trailers: Readonly<Record<string, unknown>>;
}

interface Question extends Pick<RequestOptions, "method"> {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly trailers?: Readonly<Record<string, string>>;
}

const ASK = {
  h1: (url: string, { path, method = "POST", headers = {}, body, trailers: sent }: Question) =>
    new Promise<Answer>((resolve, reject) => {
      const request = http1Request(`${url}${path}`, { method, headers }, async (response) => {
        const bytes = await buffer(response).catch(reject);
        if (bytes === undefined) return;
        const { statusCode: status, trailers } = response;
        resolve({ status, headers: response.headers, body: bytes.toString(), bytes, trailers });
      });
      request.on("error", reject);
      // Chunked, since a body with a length has no trailers.
      if (sent) request.flushHeaders();
      if (sent) request.addTrailers(sent);
      request.end(body);
    }),
  h2: (url: string, { path, method = "POST", headers = {}, body, trailers: sent }: Question) =>
    new Promise<Answer>((resolve, reject) => {
      const session = http2Connect(url, { maxSessionMemory: 1024 });
      onTestFinished(() => session.destroy());
      const head = { ":path": path, ":method": method, te: "trailers", ...headers };
      const stream = session.request(head, { waitForTrailers: sent !== undefined });
      stream.once("wantTrailers", () => stream.sendTrailers(sent ?? {}));
      let answer: IncomingHttpHeaders & { ":status"?: number | undefined } = {};
      let trailers = {};
      stream.on("response", (given) => (answer = given)).on("trailers", (given) => (trailers = given));
      stream.on("error", reject);
      buffer(stream).then(
        (bytes) => resolve({ status: answer[":status"], headers: answer, body: bytes.toString(), bytes, trailers }),
        reject,
      );
      stream.end(body);
    }),
};

/** Opens a request whose body follows. */
const OPEN = {
  h1(url: string, type: string) {
    const stream = http1Request(`${url}/open`, { method: "POST", headers: { "content-type": type } });
    stream.on("error", () => {}).flushHeaders();
    const response = once(stream, "response").then(([answer]) => answer as IncomingMessage);
    return { stream, response };
  },
  h2(url: string, type: string) {
    const session = http2Connect(url);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":path": "/open", ":method": "POST", "content-type": type });
    return { stream, response: once(stream, "response").then(() => stream) };
  },
};

/** More than all buffers between a backend and its reader hold. */
const TOTAL = 32 << 20;

describe.each(["h1", "h2"] as const)("calls over %s are passed on", (version) => {
  const ask = ASK[version];

  it("with method, path, query, headers and body, and so is the answer", async () => {
    let seen: object = {};
    const origin = await startBackend(async (exchange) => {
      const { method, target, transport } = exchange;
      seen = {
        ...{ method, target, transport, body: (await exchange.readBody(1000)).toString() },
        authorization: exchange.header("authorization"),
        connection: exchange.header("x-for-this-hop"),
        host: exchange.header("host") ?? exchange.header(":authority"),
        trailers: Object.fromEntries(Object.entries(exchange.request.trailers)),
      };
      exchange.open(418, { "content-type": "text/plain", "set-cookie": ["a=1", "b=2"], "x-cursor-server-region": "r" });
      exchange.addTrailers({ "grpc-status": "7" });
      exchange.end(Buffer.from("short and stout"));
    });
    const { url } = await setUpFace(origin);
    const hop = version === "h1" ? { connection: "x-for-this-hop", "x-for-this-hop": "1" } : {};
    const answer = await ask(url, {
      path: "/any/path?q=%20x&q=2",
      method: "PUT",
      headers: { authorization: "Bearer theirs", ...hop },
      body: "pot",
      trailers: { "x-checksum": "abc" },
    });
    expect(seen).toEqual({
      method: "PUT",
      target: "/any/path?q=%20x&q=2",
      transport: version,
      body: "pot",
      authorization: "Bearer theirs",
      connection: undefined,
      host: new URL(origin).host,
      trailers: { "x-checksum": "abc" },
    });
    expect(answer).toMatchObject({ status: 418, body: "short and stout", trailers: { "grpc-status": "7" } });
    expect(answer.headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "x-cursor-server-region": "r" });
  });

  it("of ten megabytes in both directions", async () => {
    const origin = await startBackend(async (exchange) => {
      exchange.respond(200, await exchange.readBody(1 << 26), {});
    });
    const { url } = await setUpFace(origin);
    const body = randomBytes(5 << 20).toString("hex");
    const answer = await ask(url, { path: "/blob", body });
    expect(answer.body === body).toBe(true);
  });

  it.each(["text/event-stream", "application/connect+proto", "application/grpc-web+proto"])(
    "and a stream of %s comes piece by piece, in both directions at once",
    async (type) => {
      const origin = await startBackend((exchange) => {
        exchange.open(200, { "content-type": exchange.header("content-type") });
        exchange.request.on("data", (chunk: Buffer) => exchange.write(Buffer.from(chunk.toString().toUpperCase())));
        exchange.request.on("end", () => exchange.end());
      });
      const { url } = await setUpFace(origin);
      const { stream, response } = OPEN[version](url, type);
      stream.write("one ");
      const answer = await response;
      const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      expect(String((await pieces.next()).value)).toBe("ONE ");
      stream.write("two ");
      expect(String((await pieces.next()).value)).toBe("TWO ");
      stream.end();
      expect((await pieces.next()).done).toBe(true);
    },
  );

  it("and a backend that stalls holds the client back", async () => {
    const read = Promise.withResolvers<void>();
    const origin = await startBackend(async (exchange) => {
      await read.promise;
      let bytes = 0;
      for await (const chunk of exchange.request as AsyncIterable<Buffer>) bytes += chunk.length;
      exchange.respond(200, String(bytes), {});
    });
    const { url } = await setUpFace(origin);
    const { stream, response } = OPEN[version](url, "application/octet-stream");
    let sent = 0;
    const chunk = Buffer.alloc(64 << 10);
    const all = (async () => {
      while (sent < TOTAL) {
        sent += chunk.length;
        if (!stream.write(chunk)) await once(stream, "drain");
      }
      stream.end();
    })();
    let before = -1;
    while (sent !== before) {
      before = sent;
      await new Promise((next) => setTimeout(next, 200));
    }
    expect(sent).toBeLessThan(TOTAL);
    read.resolve();
    expect(await text(await response)).toBe(String(TOTAL));
    await all;
  });

  it("and a backend that is away is a Connect error with title and detail", async () => {
    const { url } = await setUpFace("http://127.0.0.1:9");
    const unary = await ask(url, { path: "/a.v1.Service/Call", headers: { "content-type": "application/proto" } });
    expect(unary.status).toBe(503);
    expect(JSON.parse(unary.body)).toMatchObject({
      code: "unavailable",
      details: [{ type: "aiserver.v1.ErrorDetails", debug: { error: "ERROR_NETWORK_ERROR" } }],
    });
    const stream = await ask(url, {
      path: "/a.v1.Service/Call",
      headers: { "content-type": "application/connect+proto" },
    });
    expect(stream.status).toBe(200);
    expect(JSON.parse(stream.body.slice(5))).toMatchObject({ error: { code: "unavailable" } });
    const rest = await ask(url, { path: "/v1/me", method: "GET" });
    expect(JSON.parse(rest.body)).toMatchObject({ error: { code: "unavailable", message: expect.any(String) } });
  });

  it("and a backend that breaks off in mid-answer breaks off here", async () => {
    const origin = await startBackend((exchange) => {
      exchange.open(200, {});
      exchange.write(Buffer.from("half"));
      setTimeout(() => exchange.reset(), 20);
    });
    const { url } = await setUpFace(origin);
    await expect(ask(url, { path: "/half" })).rejects.toThrow();
  });

  it("and a client that vanishes is gone for the backend as well", async () => {
    const gone = Promise.withResolvers<boolean>();
    const begun = Promise.withResolvers<void>();
    const origin = await startBackend((exchange) => {
      exchange.open(200, {});
      exchange.write(Buffer.from("first"));
      exchange.onOver((wasCut) => gone.resolve(wasCut));
      begun.resolve();
    });
    const { url } = await setUpFace(origin);
    if (version === "h1") {
      const request = http1Request(`${url}/watch`, { method: "POST" }, (response) =>
        response.once("data", () => request.destroy()),
      );
      request.on("error", () => {}).end();
    } else {
      const session = http2Connect(url);
      onTestFinished(() => session.destroy());
      const stream = session.request({ ":path": "/watch", ":method": "POST" });
      stream.on("error", () => {}).once("data", () => stream.close(8));
    }
    await begun.promise;
    expect(await gone.promise).toBe(true);
  });

  it("and a reader that stalls holds the backend back", async () => {
    let sent = 0;
    const origin = await startBackend(async (exchange) => {
      exchange.open(200, {});
      const chunk = Buffer.alloc(64 << 10);
      while (!exchange.isOver && sent < TOTAL) {
        sent += chunk.length;
        if (!exchange.write(chunk)) await exchange.drained();
      }
      exchange.end();
    });
    const { url } = await setUpFace(origin);
    const read = await new Promise<number>((resolve) => {
      const count = async (stream: NodeJS.ReadableStream) => {
        stream.pause();
        // Nothing reads: the backend stops once every buffer on the way is full.
        let before = -1;
        while (sent !== before) {
          before = sent;
          await new Promise((next) => setTimeout(next, 200));
        }
        expect(sent).toBeLessThan(TOTAL);
        let bytes = 0;
        stream.on("data", (chunk: Buffer) => (bytes += chunk.length)).on("end", () => resolve(bytes));
        stream.resume();
      };
      if (version === "h1") http1Request(`${url}/much`, { method: "POST" }, (response) => void count(response)).end();
      else {
        const session = http2Connect(url);
        onTestFinished(() => session.destroy());
        const stream = session.request({ ":path": "/much", ":method": "POST" });
        stream.on("response", () => void count(stream));
        stream.end();
      }
    });
    expect(read).toBe(TOTAL);
  });
});

it("what a client sends after the end of the answer still reaches the backend", async () => {
  const received = Promise.withResolvers<string>();
  const origin = await startBackend((exchange) => {
    text(exchange.request).then(received.resolve, received.reject);
    exchange.respond(200, "all", {});
  });
  const { url } = await setUpFace(origin);
  const { stream, response } = OPEN.h2(url, "application/connect+proto");
  stream.write("early ");
  expect(await text(await response)).toBe("all");
  stream.end("late");
  expect(await received.promise).toBe("early late");
});

describe("a backend that resets a TCP connection", () => {
  /** Two streams of one client, each on so many connections of the backend's. */
  async function openTwo(maxConcurrentStreams: number) {
    const answers: ServerExchange[] = [];
    const origin = await startBackend(
      (exchange) => {
        exchange.open(200, {});
        exchange.write(Buffer.from(exchange.path));
        answers.push(exchange);
      },
      { settings: { maxConcurrentStreams } },
    );
    const { url } = await setUpFace(origin);
    const session = http2Connect(url);
    onTestFinished(() => session.destroy());
    const lost = once(session, "error").then(([error]) => (error as NodeJS.ErrnoException).code);
    const streams = ["/a", "/b"].map((path) => session.request({ ":path": path, ":method": "POST" }));
    const failed = streams.map((stream) =>
      once(stream, "error").then(([error]) => (error as NodeJS.ErrnoException).code),
    );
    await Promise.all(streams.map((stream) => once(stream, "data")));
    const [a, b] = ["/a", "/b"].map((path) => answers.find((exchange) => exchange.path === path));
    return { a, b, streams, failed, lost };
  }

  it("resets the client's, if everything on it is lost", async () => {
    const { a, failed, lost } = await openTwo(100);
    a?.resetConnection();
    expect(await Promise.all([...failed, lost])).toEqual(["ECONNRESET", "ECONNRESET", "ECONNRESET"]);
  });

  it("and one that closes it in the middle of an answer looks as without the face", async () => {
    const origin = await startBackend((exchange) => {
      exchange.open(200, {});
      exchange.write(Buffer.from("half"));
      exchange.request.once("data", () => exchange.request.socket.destroy());
    });
    const { url } = await setUpFace(origin);
    const [direct, passed] = await Promise.all(
      [origin, url].map(async (target) => {
        const session = http2Connect(target);
        onTestFinished(() => session.destroy());
        const errors: unknown[] = [];
        session.on("error", ({ code }) => errors.push(["session", code]));
        const stream = session.request({ ":path": "/half", ":method": "POST" });
        stream.on("error", ({ code }: NodeJS.ErrnoException) => errors.push(["stream", code]));
        stream.once("data", () => stream.write("more"));
        await once(stream, "close");
        return { errors, code: stream.rstCode, isAborted: stream.aborted };
      }),
    );
    expect(passed).toEqual(direct);
  });

  it("resets only the streams that are lost, if others are not", async () => {
    const { a, b, streams, failed, lost } = await openTwo(1);
    a?.resetConnection();
    expect(await failed[0]).toBe("ERR_HTTP2_STREAM_ERROR");
    b?.write(Buffer.from("still here"));
    expect(String((await once(streams[1] as ClientHttp2Stream, "data"))[0])).toBe("still here");
    b?.resetConnection();
    expect(await Promise.all([failed[1], lost])).toEqual(["ECONNRESET", "ECONNRESET"]);
  });
});

describe.each(["h2", "h1"] as const)(
  "runs of the account's models over %s are as if the face were not there",
  (transport) => {
    it.each([
      ["text and thinking", "@sim think let me see ;; say hello wide world"],
      ["many tokens", "@sim tokens 2000 0"],
      ["an error before the stream", "@sim fail unauthenticated http=401"],
      ["an error", "@sim say first ;; fail resource_exhausted ERROR_RATE_LIMITED title=Slow down"],
    ])("%s", async (_, script) => {
      const { connect, connectDirectly } = await setUpSim();
      const [direct, passed] = await Promise.all([
        connectDirectly(transport).say(script),
        connect(transport).say(script),
      ]);
      expect(passed.updates).toEqual(direct.updates);
      expect([passed.text, passed.thinking, passed.usage]).toEqual([direct.text, direct.thinking, direct.usage]);
      expect(passed.error?.code).toBe(direct.error?.code);
      expect(passed.messages.map(({ message }) => message.case)).toEqual(
        direct.messages.map(({ message }) => message.case),
      );
    });

    it("tools, and a second turn on the state of the first", async () => {
      const { connect } = await setUpSim();
      const client = connect(transport, { tools: { look: () => "seen" } });
      const first = await client.say('@sim call look {"at":"x"} ;; say {{result}}');
      expect([first.text, first.error]).toEqual(["seen", undefined]);
      const second = await client.say("@sim say {{turns}} again");
      expect(second.error).toBeUndefined();
    });

    it("messages of ten megabytes, to the backend and back", async () => {
      const origin = await startBackend((exchange) => {
        exchange.open(200, { "content-type": exchange.header("content-type") });
        exchange.request.on("data", (chunk: Buffer) => {
          if (exchange.write(chunk)) return;
          exchange.request.pause();
          void exchange.drained().then(() => exchange.request.resume());
        });
        exchange.request.on("end", () => exchange.end());
      });
      const { url } = await setUpFace(origin);
      const opening = { case: "runRequest" as const, value: { requestedModel: { modelId: "composer-2.5" } } };
      const blob = { id: 1, message: { case: "getBlobResult" as const, value: { blobData: randomBytes(10 << 20) } } };
      const payloads = [encodeClientMessage(opening), encodeClientMessage({ case: "kvClientMessage", value: blob })];
      if (transport === "h2") {
        const body = Buffer.concat(payloads.map((payload) => encodeFrame(payload)));
        const path = "/agent.v1.AgentService/Run";
        const answer = await ASK.h2(url, { path, headers: { "content-type": "application/connect+proto" }, body });
        expect(answer.bytes.equals(body)).toBe(true);
        return;
      }
      const path = "/aiserver.v1.BidiService/BidiAppend";
      for (const [index, payload] of payloads.entries()) {
        const body = Buffer.from(encodeAppend({ requestId: "r", seqno: BigInt(index), payload }));
        const answer = await ASK.h1(url, { path, headers: { "content-type": "application/proto" }, body });
        expect(answer.bytes.equals(body)).toBe(true);
      }
    });

    it.each(["rst", "rst code=8", "goaway", "tcp-reset", "truncate", "garbage", "gzip", "split", "dup-frame"])(
      "a backend that does %s",
      async (fault) => {
        const { connect, connectDirectly } = await setUpSim();
        const script = `@sim say one ;; fault ${fault} times=2 ;; say two`;
        const direct = await connectDirectly(transport).say(script);
        const passed = await connect(transport).say(script);
        const seen = ({ text, error }: typeof direct) => [text, error?.kind, error?.code];
        expect(seen(passed)).toEqual(seen(direct));
      },
    );

    it("a cancelled run is over for the backend", async () => {
      const { connect, sim } = await setUpSim();
      const controller = new AbortController();
      const run = connect(transport).say("@sim say begun ;; wait ;; say never", {
        signal: controller.signal,
        onMessage: (message) => {
          const isText = message.case === "interactionUpdate" && message.value.message.case === "textDelta";
          if (isText) controller.abort();
        },
      });
      await run;
      await expect.poll(() => sim.stats().openRuns).toBe(0);
    });
  },
);
