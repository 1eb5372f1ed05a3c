import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BidiRun } from "../../../src/wire/connect/bidi-run.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END, FrameDecoder } from "../../../src/wire/connect/envelope.ts";
import { type ConnectionPool, createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import type { WireLimits } from "../../../src/wire/limits.ts";
import { Recorder } from "../support/listener.ts";
import { RawH2Server, type RawH2Stream } from "../support/raw-h2.ts";

const END = encodeFrame(Buffer.from("{}"), FLAG_END);
const text = (said: string) => encodeFrame(Buffer.from(said));

let pool: ConnectionPool;
const open: Array<() => unknown> = [];

beforeEach(() => {
  pool = createConnectionPool();
});

afterEach(async () => {
  pool.destroy();
  for (const close of open.splice(0)) await close();
});

async function rawServer(onRequest: (stream: RawH2Stream) => void): Promise<[origin: string, server: RawH2Server]> {
  const server = new RawH2Server();
  server.onRequest = onRequest;
  open.push(() => server.close());
  return [await server.listen(), server];
}

async function nodeServer(
  onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<[origin: string, server: Http2Server]> {
  const server = createServer();
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    onStream(stream, headers);
  });
  server.on("sessionError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => server.close());
  return [`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server];
}

function start(origin: string, limits: Partial<WireLimits> = {}) {
  const listener = new Recorder();
  const headers = { "x-request-id": "r1", "content-type": "application/connect+proto", authorization: "Bearer s3cret" };
  const run = new BidiRun({ transport: pool, origin, headers, listener, limits });
  return { run, listener };
}

describe("a run over HTTP/2", () => {
  test("frames go both ways, the end frame ends it, both sides close", async () => {
    const received: string[] = [];
    const seen: IncomingHttpHeaders[] = [];
    const closed = Promise.withResolvers<number>();
    const [origin] = await nodeServer((stream, headers) => {
      seen.push(headers);
      const decoder = new FrameDecoder({ maxFrameBytes: 100 });
      stream.respond({ ":status": 200, "content-type": "application/connect+proto", "x-cursor-server-region": "here" });
      stream.on("data", (chunk: Buffer) =>
        decoder.push(chunk, (_, payload) => {
          received.push(Buffer.from(payload).toString());
          stream.write(text(`you said ${received.at(-1)}`));
          if (received.length === 2) stream.end(END);
        }),
      );
      stream.on("close", () => closed.resolve(stream.rstCode));
    });
    const { run, listener } = start(origin);
    expect(run.requestId).toBe("r1");
    run.send(Buffer.from("one"));
    await listener.until(() => listener.messages.length === 1);
    run.send(Buffer.from("two"));
    const { error, end } = await listener.outcome();
    expect(error).toBeUndefined();
    expect(end.reached).toBe(true);
    expect(received).toEqual(["one", "two"]);
    expect(listener.messages).toEqual(["you said one", "you said two"]);
    expect(listener.opened).toMatchObject([{ "x-cursor-server-region": "here" }]);
    expect(await closed.promise).toBe(0);
    expect(seen).toMatchObject([{ ":method": "POST", ":path": "/agent.v1.AgentService/Run", te: "trailers" }]);
    expect(Object.keys(seen[0] ?? {})).not.toContain("connection");
    expect(run.send(Buffer.from("late"))).toBe(true);
    run.cancel();
    expect(listener.outcomes).toHaveLength(1);
  });

  test("REL-14: the end frame is enough, even if the stream is reset, stays open or ends late", async () => {
    const afterEnd: Array<(stream: RawH2Stream) => void> = [
      (stream) => stream.reset(2),
      (stream) => stream.data(text("more")),
      (stream) => stream.connection.socket.destroy(),
      () => {},
    ];
    const [origin, server] = await rawServer((stream) => {
      stream.head();
      stream.data(text("hi"));
      stream.data(END);
      afterEnd.shift()?.(stream);
    });
    for (let n = 0; n < 4; n++) {
      const { listener } = start(origin, { lingerMs: 20 });
      expect(await listener.result()).toBe("ok");
      expect(listener.messages).toEqual(["hi"]);
      await vi.waitFor(() => expect(pool.stats().streams).toBe(0));
    }
    await vi.waitFor(() => expect(server.connections.at(-1)?.resets.at(-1)?.[1]).toBe(8));
  });

  test("an error in the end frame, compressed as well", async () => {
    const payload = JSON.stringify({ error: { code: "unauthenticated", message: "no" }, metadata: { a: ["b"] } });
    const [origin] = await rawServer((stream) => {
      stream.head();
      stream.data(encodeFrame(gzipSync(payload), FLAG_END | FLAG_COMPRESSED), true);
    });
    const { error, end } = await start(origin).listener.outcome();
    expect(error).toMatchObject({ kind: "unauthenticated", message: "no" });
    expect(end.metadata["a"]).toEqual(["b"]);
  });

  test("half-closing still reads the answer", async () => {
    const [origin] = await nodeServer((stream) => {
      stream.respond({ "content-type": "application/connect+proto" });
      stream.resume().on("end", () => stream.end(Buffer.concat([text("read"), END])));
    });
    const { run, listener } = start(origin);
    run.send(Buffer.from("q"));
    run.closeSend();
    expect(await listener.result()).toBe("ok");
    expect(listener.messages).toEqual(["read"]);
  });
});

describe("REL-10: RST_STREAM", () => {
  const expected: ReadonlyArray<readonly [kind: string, code: string]> = [
    ["upstream-unavailable", "stream_reset"],
    ["upstream-protocol", "stream_reset"],
    ["upstream-failed", "stream_reset"],
    ["upstream-protocol", "stream_reset"],
    ["upstream-unavailable", "stream_reset"],
    ["upstream-protocol", "stream_reset"],
    ["upstream-protocol", "stream_reset"],
    ["upstream-unavailable", "stream_refused"],
    ["upstream-unavailable", "stream_reset"],
    ["upstream-protocol", "stream_reset"],
    ["upstream-unavailable", "stream_reset"],
    ["rate-limited", "stream_reset"],
    ["upstream-protocol", "stream_reset"],
    ["upstream-protocol", "http1_required"],
  ];

  test("each code, before and after the headers, leaves the other streams alone", async () => {
    const silent: RawH2Stream[] = [];
    let act: (stream: RawH2Stream) => void = (stream) => silent.push(stream);
    const [origin, server] = await rawServer((stream) => act(stream));
    const bystander = start(origin);
    await vi.waitFor(() => expect(silent).toHaveLength(1));

    for (const [code, [kind, name]] of expected.entries()) {
      act = (stream) => stream.reset(code);
      const early = await start(origin).listener.outcome();
      expect(early.error).toMatchObject({ kind, code: name, context: { http2Code: code } });
      expect(early.end.reached, `code ${code}`).toBe(code !== 7);

      act = (stream) => {
        stream.head();
        stream.data(text("a"));
        stream.reset(code);
      };
      const late = start(origin).listener;
      const { error, end } = await late.outcome();
      expect(late.messages).toEqual(["a"]);
      // A reset without error is an end as far as HTTP goes, and one that came too soon.
      if (code === 0) expect(error).toMatchObject({ kind, code: "stream_truncated" });
      else expect(error).toMatchObject({ kind, code: name, context: { http2Code: code } });
      expect(end.reached).toBe(true);
    }
    expect(server.connections).toHaveLength(1);
    silent[0]?.head();
    silent[0]?.data(END, true);
    expect(await bystander.listener.result()).toBe("ok");
  });

  test("a refused stream is sent again, once, with everything said so far", async () => {
    const seen: number[] = [];
    const bodies: string[] = [];
    const [origin] = await nodeServer((stream) => {
      seen.push(stream.id ?? 0);
      if (seen.length === 1) {
        stream.close(7);
        return;
      }
      stream.respond({ "content-type": "application/connect+proto" });
      stream.on("data", (chunk) => {
        bodies.push(chunk.toString("latin1"));
        stream.end(END);
      });
    });
    const { run, listener } = start(origin);
    run.send(Buffer.from("question"));
    expect(await listener.result()).toBe("ok");
    expect(seen).toHaveLength(2);
    expect(bodies.join("")).toContain("question");
  });
});

describe("REL-12, REL-16: connections that break", () => {
  test.each<[name: string, act: (stream: RawH2Stream) => void, code: string]>([
    ["FIN in the middle of a frame", (stream) => stream.connection.socket.end(), "connection_reset"],
    ["TCP reset", (stream) => stream.connection.socket.resetAndDestroy(), "connection_reset"],
    ["end of stream in the middle of a frame", (stream) => stream.data(Buffer.alloc(0), true), "stream_truncated"],
    [
      "bytes that are not HTTP/2",
      (stream) => stream.connection.socket.write("HTTP/1.1 400 Bad\r\n\r\n"),
      "http_invalid",
    ],
    ["GOAWAY with an error", (stream) => stream.connection.goaway(stream.id, 2), "stream_reset"],
  ])("%s", async (_, act, code) => {
    const [origin] = await rawServer((stream) => {
      stream.head();
      stream.data(Buffer.concat([text("whole"), Buffer.from([0, 0, 0, 0, 9, 1])]));
      streams.push(stream);
    });
    const streams: RawH2Stream[] = [];
    const { listener } = start(origin);
    await listener.until(() => listener.messages.length === 1);
    for (const stream of streams) act(stream);
    const { error, end } = await listener.outcome();
    expect(error).toMatchObject({ code });
    expect(end.reached).toBe(true);
    expect(listener.outcomes).toHaveLength(1);
    await vi.waitFor(() => expect(pool.stats().streams).toBe(0));
  });

  test.each<[name: string, bytes: Buffer, code: string]>([
    ["SEC-20: 4 GiB announced, then silence", Buffer.from([0, 255, 255, 255, 255]), "frame_too_large"],
    ["REL-18: flags that do not exist", Buffer.from([4, 0, 0, 0, 0]), "frame_flags"],
    ["SEC-22: a bomb", encodeFrame(gzipSync(Buffer.alloc(17 * 1024 * 1024)), FLAG_COMPRESSED), "inflate_too_large"],
    ["REL-18: bad gzip", encodeFrame(Buffer.from("?"), FLAG_COMPRESSED), "gzip_invalid"],
    ["an end that is no JSON", encodeFrame(Buffer.from("?"), FLAG_END), "end_invalid"],
  ])("%s resets the stream", async (_, bytes, code) => {
    const [origin, server] = await rawServer((stream) => {
      stream.head();
      for (let at = 0; at < bytes.length; at += 16_000) stream.data(bytes.subarray(at, at + 16_000));
    });
    const { listener } = start(origin, { lingerMs: 10 });
    expect(await listener.result()).toBe(code);
    await vi.waitFor(() => expect(server.connections[0]?.resets.map(([, reset]) => reset)).toEqual([8]));
  });

  test("REL-17: 100,000 empty messages", async () => {
    const frames = Buffer.alloc(5 * 3000);
    const [origin] = await nodeServer((stream) => {
      stream.respond({ "content-type": "application/connect+proto" });
      for (let n = 0; n < 34; n++) stream.write(frames);
      stream.end(END);
    });
    const { listener } = start(origin);
    expect(await listener.result()).toBe("ok");
    expect(listener.messages).toHaveLength(102_000);
  });
});

describe("answers that are not the answer", () => {
  test.each<[status: number, type: string, body: string, code: string]>([
    [200, "text/html", "<html>", "unexpected_content_type"],
    [200, "application/json", "{}", "unexpected_content_type"],
    [200, "application/connect+json", "{}", "unexpected_content_type"],
    [307, "text/plain", "", "redirected"],
    [401, "application/json", '{"code":"unauthenticated","message":"no"}', "unauthenticated"],
    [415, "text/plain", "", "media_type_refused"],
    [429, "application/json", "{}", "rate_limited"],
    [464, "text/html", "<html>", "http2_required"],
    [500, "text/html", "<html>", "upstream_failed"],
    [503, "text/html", "x".repeat(1_000_000), "upstream_unavailable"],
  ])("REL-23: %i with %s", async (status, type, body, code) => {
    let requests = 0;
    const [origin] = await nodeServer((stream) => {
      requests++;
      stream.respond({ ":status": status, "content-type": type, location: "http://127.0.0.1:9/", "retry-after": "3" });
      stream.end(body);
    });
    const { run, listener } = start(origin);
    run.send(Buffer.from("q"));
    const { error } = await listener.outcome();
    expect(error?.code).toBe(code);
    expect(listener.opened).toHaveLength(0);
    if (status >= 400) expect(error?.retryAfterMs).toBe(3000);
    expect(inspect(error, { depth: 9 })).not.toContain("s3cret");
    expect(requests).toBe(1);
    await vi.waitFor(() => expect(pool.stats().streams).toBe(0));
  });

  test("an error page that never ends is judged by its beginning", async () => {
    const [origin] = await nodeServer((stream) => {
      stream.respond({ ":status": 502 });
      stream.write("<html>");
    });
    const { listener } = start(origin, { headersTimeoutMs: 100 });
    expect(await listener.result()).toMatch(/upstream_failed|headers_timeout/);
  });

  test("response headers above the limit", async () => {
    const [origin] = await rawServer((stream) =>
      stream.headers({ "content-type": "application/connect+proto", a: "a".repeat(20_000), b: "b".repeat(20_000) }),
    );
    expect(await start(origin).listener.result()).toBe("headers_too_large");
  });
});

describe("time", () => {
  test("REL-15: no headers in time", async () => {
    const [origin, server] = await rawServer(() => {});
    const { listener } = start(origin, { headersTimeoutMs: 150 });
    expect((await listener.outcome()).error).toMatchObject({ kind: "timeout", code: "headers_timeout" });
    await vi.waitFor(() => expect(server.connections[0]?.resets).toEqual([[1, 8]]));
  });
});

describe("REL-05, REL-06: giving up", () => {
  test.each(["before the connection", "before the headers", "in the middle"])("cancel %s", async (when) => {
    const [origin, server] = await rawServer((stream) => {
      if (when !== "in the middle") return;
      stream.head();
      stream.data(text("a"));
    });
    const { run, listener } = start(origin);
    if (when === "before the headers") await vi.waitFor(() => expect(server.connections[0]?.streams).toEqual([1]));
    if (when === "in the middle") await listener.until(() => listener.messages.length === 1);
    run.cancel();
    expect(listener.outcomes).toMatchObject([{ error: { kind: "canceled" } }]);
    run.cancel();
    expect(listener.outcomes).toHaveLength(1);
    if (when !== "before the connection") {
      await vi.waitFor(() => expect(server.connections[0]?.resets).toEqual([[1, 8]]));
    }
    await vi.waitFor(() => expect(pool.stats()).toMatchObject({ streams: 0, waiting: 0 }));
  });

  test("1,000 runs cancelled at random leave nothing behind", async () => {
    const [origin, server] = await nodeServer((stream) => {
      stream.respond({ "content-type": "application/connect+proto" });
      for (let n = 0; n < 5; n++) stream.write(text("x"));
    });
    await Promise.all(
      Array.from({ length: 1000 }, async (_, n) => {
        const { run, listener } = start(origin);
        run.send(Buffer.from("q"));
        await listener.until(() => listener.messages.length >= n % 6);
        run.cancel();
        expect(await listener.result()).toBe("canceled");
      }),
    );
    await vi.waitFor(() => expect(pool.stats()).toMatchObject({ streams: 0, waiting: 0 }));
    expect(server.listening).toBe(true);
  });
});

describe("REL-04: back-pressure", () => {
  test("a paused reader stops the backend within a window", async () => {
    let written = 0;
    const [origin] = await nodeServer((stream) => {
      stream.respond({ "content-type": "application/connect+proto" });
      const frame = encodeFrame(Buffer.alloc(16_000));
      const pump = (): void => {
        while (written < 400 && !stream.destroyed) {
          written++;
          if (!stream.write(frame)) {
            stream.once("drain", pump);
            return;
          }
        }
        stream.end(END);
      };
      pump();
    });
    const { run, listener } = start(origin);
    let received = 0;
    listener.message = (payload) => {
      received += payload.length;
      if (received === 16_000) run.pause();
    };
    await vi.waitFor(() => expect(received).toBe(16_000));
    let before = -1;
    await vi.waitFor(() => {
      const now = written;
      const isStill = now === before;
      before = now;
      expect(isStill).toBe(true);
    });
    expect(received).toBe(16_000);
    expect(written * 16_000).toBeLessThan(1_000_000);
    run.resume();
    expect(await listener.result()).toBe("ok");
    expect(received).toBe(400 * 16_000);
  });

  test("what was received whole is read whole, however late and whatever became of the connection", async () => {
    const [origin] = await rawServer((stream) => {
      stream.head();
      stream.data(text("a"));
      streams.push(stream);
    });
    const streams: RawH2Stream[] = [];
    const { run, listener } = start(origin);
    listener.onMessage = () => run.pause();
    await listener.until(() => listener.messages.length === 1);
    streams[0]?.data(Buffer.concat([text("b"), END]), true);
    streams[0]?.connection.socket.end();
    await vi.waitFor(() => expect(pool.stats().connections).toBe(0));
    listener.onMessage = undefined;
    run.resume();
    expect(await listener.result()).toBe("ok");
    expect(listener.messages).toEqual(["a", "b"]);
  });

  test("a backend that does not read makes send return false, and drain follows", async () => {
    const streams: ServerHttp2Stream[] = [];
    const [origin] = await nodeServer((stream) => {
      stream.respond({ "content-type": "application/connect+proto" });
      streams.push(stream.pause());
    });
    const { run, listener } = start(origin);
    await listener.until(() => listener.opened.length === 1);
    let sends = 1;
    while (run.send(Buffer.alloc(10_000))) sends++;
    expect(sends).toBeLessThan(100);
    expect(listener.drains).toBe(0);
    streams[0]?.resume();
    await listener.until(() => listener.drains === 1);
    run.cancel();
  });

  test("what is sent before there is a connection is bounded and drained too", async () => {
    const [origin] = await nodeServer((stream) => {
      stream.respond({ "content-type": "application/connect+proto" });
      stream.resume();
    });
    const { run, listener } = start(origin);
    let sends = 1;
    while (run.send(Buffer.alloc(10_000))) sends++;
    expect(sends).toBeLessThan(20);
    await listener.until(() => listener.drains >= 1);
    run.cancel();
  });
});
