import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { callHeaders } from "../../../src/wire/agent/headers.ts";
import { encodeFrame, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { openSseRun, type SseRunOptions } from "../../../src/wire/connect/sse-run.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import type { HttpTransport } from "../../../src/wire/http/http.ts";
import type { WireLimits } from "../../../src/wire/limits.ts";
import { Recorder } from "../support/listener.ts";
import { openDownload, PairServer } from "../support/pair-server.ts";

const END = encodeFrame(Buffer.from("{}"), FLAG_END);
const text = (said: string) => encodeFrame(Buffer.from(said));

let server: PairServer;
let origin: string;
let transport: HttpTransport;

beforeEach(async () => {
  server = new PairServer();
  origin = await server.listen();
  transport = createHttp1Transport();
});

afterEach(async () => {
  transport.destroy();
  await server.close();
});

function start(options: Partial<SseRunOptions> = {}) {
  const listener = new Recorder();
  const requestId = "r1";
  const caller = { token: "s3cret", requestId };
  const run = openSseRun({
    transport,
    origin,
    requestId,
    headers: callHeaders("run-sse", caller),
    appendHeaders: callHeaders("append", caller),
    listener,
    ...options,
  });
  return { run, listener };
}

describe("a run over the HTTP/1.1 pair", () => {
  test("golden bytes: one enveloped request id down, numbered hex up, the same id on both", async () => {
    server.onAppend = (append) => {
      append.answer();
      if (append.seqno === 1) server.downloads[0]?.response.end(Buffer.concat([text("hi"), END]));
    };
    const { run, listener } = start();
    run.send(Buffer.from("3a00", "hex"));
    run.send(Buffer.from("3a00", "hex"));
    expect(await listener.result()).toBe("ok");
    expect(listener.messages).toEqual(["hi"]);
    expect(server.downloads[0]?.body.toString("hex")).toBe("00000000040a027231");
    expect(server.appends.map(({ raw }) => raw.toString("hex")).toSorted()).toEqual([
      "0a043361303012040a027231",
      "0a043361303012040a0272311801",
    ]);
    for (const { headers } of [...server.downloads, ...server.appends]) {
      expect(headers).toMatchObject({
        "x-request-id": "r1",
        "x-cursor-streaming": "true",
        authorization: "Bearer s3cret",
      });
      expect(headers).not.toHaveProperty("te");
    }
    expect(server.downloads[0]?.headers["content-type"]).toBe("application/connect+proto");
    expect(server.appends[0]?.headers["content-type"]).toBe("application/proto");
  });

  test("the first append does not wait for the download", async () => {
    server.onDownload = () => {};
    const { run } = start();
    run.send(Buffer.from("first"));
    await vi.waitFor(() => expect(server.appends).toHaveLength(1));
    expect(server.appends[0]).toMatchObject({ seqno: 0, data: "first", requestId: "r1" });
  });

  test("appends begin in order, so many at a time and no more; send says when", async () => {
    const waiting: Array<() => void> = [];
    server.onAppend = (append) => waiting.push(() => append.answer());
    const { run, listener } = start({ maxAppendsInFlight: 4 });
    const results = Array.from({ length: 10 }, (_, n) => run.send(Buffer.from(`m${n}`)));
    expect(results).toEqual([true, true, true, ...Array(7).fill(false)]);
    await vi.waitFor(() => expect(waiting).toHaveLength(4));
    for (let done = 0; done < 10; done++) {
      await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(done));
      expect(waiting.length - done).toBeLessThanOrEqual(4);
      waiting[done]?.();
    }
    await listener.until(() => listener.drains === 1);
    expect(server.appends.map(({ seqno }) => seqno).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(server.appends.find(({ seqno }) => seqno === 7)?.data).toBe("m7");
    run.closeSend();
    expect(run.send(Buffer.from("late"))).toBe(true);
    expect(server.appends).toHaveLength(10);
  });

  test("long downloads do not use up the sockets of the appends", async () => {
    transport.destroy();
    transport = createHttp1Transport({ limits: { maxShortSockets: 2 } });
    const runs = Array.from({ length: 12 }, () => start());
    for (const { run } of runs) run.send(Buffer.from("q"));
    await vi.waitFor(() => expect(server.appends).toHaveLength(12));
    expect(server.connections).toBeLessThanOrEqual(14);
    for (const { response } of server.downloads) response.end(END);
    for (const { listener } of runs) expect(await listener.result()).toBe("ok");
  });
});

describe("appends that fail", () => {
  test.each<[status: number, body: string, kind: string]>([
    [401, '{"code":"unauthenticated","message":"expired"}', "unauthenticated"],
    [404, "", "not-found"],
    [500, "<html>", "upstream-failed"],
    [429, '{"code":"resource_exhausted"}', "rate-limited"],
  ])("REL-22: %i fails the run", async (status, body, kind) => {
    server.onAppend = (append) => append.answer(status, body);
    const { run, listener } = start();
    run.send(Buffer.from("q"));
    const { error, end } = await listener.outcome();
    expect(error?.kind).toBe(kind);
    expect(end.reached).toBe(true);
    await vi.waitFor(() => expect(server.downloads[0]?.response.destroyed).toBe(true));
  });

  test("one that is not answered in time", async () => {
    server.onAppend = () => {};
    const { run, listener } = start({ appendTimeoutMs: 40 });
    run.send(Buffer.from("q"));
    expect(await listener.result()).toBe("call_timeout");
  });

  test("one that fails after the end is nobody's business", async () => {
    server.onAppend = () => server.downloads[0]?.response.end(END);
    const { run, listener } = start();
    await vi.waitFor(() => expect(server.downloads).toHaveLength(1));
    run.send(Buffer.from("q"));
    expect(await listener.result()).toBe("ok");
    server.appends[0]?.answer(404);
    await transport.close();
    expect(listener.outcomes).toHaveLength(1);
    expect(run.send(Buffer.from("late"))).toBe(true);
    expect(server.appends).toHaveLength(1);
  });
});

describe("downloads that fail", () => {
  test.each<[name: string, status: number, type: string, body: string, code: string]>([
    ["a wrong type", 200, "text/html", "data: x\n\n", "unexpected_content_type"],
    ["464", 464, "text/html", "<html>", "http2_required"],
    ["a Connect error", 401, "application/json", '{"code":"unauthenticated"}', "unauthenticated"],
    ["a redirect", 302, "text/html", "", "redirected"],
    ["a large page", 502, "text/html", "x".repeat(600_000), "upstream_failed"],
  ])("REL-23: %s", async (_, status, type, body, code) => {
    server.onDownload = (response) => {
      response.writeHead(status, { "content-type": type, location: "http://127.0.0.1:9" });
      response.end(body);
    };
    expect(await start().listener.result()).toBe(code);
  });

  test.each<[name: string, act: () => void, code: string]>([
    ["REL-16: an end without an end frame", () => server.downloads[0]?.response.end(), "stream_truncated"],
    ["REL-12: a connection that is cut", () => server.downloads[0]?.response.destroy(), "connection_reset"],
    ["REL-18: bytes that are no frame", () => server.downloads[0]?.response.write("\u0077ello!"), "frame_flags"],
    [
      "an error frame",
      () => server.downloads[0]?.response.end(encodeFrame(Buffer.from('{"error":{"code":"not_found"}}'), FLAG_END)),
      "not_found",
    ],
  ])("%s", async (_, act, code) => {
    server.onDownload = (response) => {
      openDownload(response);
      response.write(text("a"));
    };
    const { listener } = start();
    await listener.until(() => listener.messages.length === 1);
    act();
    expect(await listener.result()).toBe(code);
  });

  test.each<[limits: Partial<WireLimits>, opens: boolean, code: string]>([
    [{ headersTimeoutMs: 40 }, false, "headers_timeout"],
    [{ idleTimeoutMs: 40 }, true, "idle_timeout"],
  ])("REL-15: %j", async (limits, opens, code) => {
    server.onDownload = (response) => {
      if (opens) openDownload(response);
    };
    expect(await start({ limits }).listener.result()).toBe(code);
  });

  test("REL-24: nobody there", async () => {
    await server.close();
    const { error, end } = await start().listener.outcome();
    expect(error?.code).toBe("connection_refused");
    expect(end.reached).toBe(false);
    server = new PairServer();
  });

  test("REL-24: no such host; a host that accepts and is silent; one that is no HTTP server", async () => {
    const dns = await start({ origin: "http://nowhere.invalid" }).listener.outcome();
    expect([dns.error?.code, dns.end.reached]).toEqual(["dns_failure", false]);

    const tcp = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("\u0000\u0001\u0002 not HTTP\r\n\r\n");
    });
    await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
    const { port } = tcp.address() as AddressInfo;
    expect(await start({ origin: `http://127.0.0.1:${port}` }).listener.result()).toBe("http_invalid");
    tcp.close();
  });

  test("headers above the limit", async () => {
    server.onDownload = (response) => {
      response.writeHead(200, { "content-type": "application/connect+proto", big: "x".repeat(40_000) });
      response.end(END);
    };
    expect(await start().listener.result()).toBe("headers_too_large");
  });
});

describe("giving up and holding back", () => {
  test("REL-05: cancel cuts the download and the appends under way", async () => {
    let cut = 0;
    server.onAppend = () => {};
    server.onDownload = (response) => {
      openDownload(response);
      response.on("close", () => cut++);
    };
    const { run, listener } = start();
    run.send(Buffer.from("q"));
    await vi.waitFor(() => expect(server.appends).toHaveLength(1));
    await listener.until(() => listener.opened.length === 1);
    run.cancel();
    expect(listener.outcomes).toMatchObject([{ error: { kind: "canceled" } }]);
    await vi.waitFor(() => expect(cut).toBe(1));
    run.cancel();
    expect(listener.outcomes).toHaveLength(1);
  });

  test("REL-04: a paused reader stops the backend within bounds", async () => {
    let written = 0;
    server.onDownload = (response) => {
      openDownload(response);
      const frame = encodeFrame(Buffer.alloc(64_000));
      const pump = (): void => {
        while (written < 1000 && !response.destroyed) {
          written++;
          if (!response.write(frame)) {
            response.once("drain", pump);
            return;
          }
        }
        response.end(END);
      };
      pump();
    };
    const { run, listener } = start();
    let received = 0;
    listener.message = () => {
      if (++received === 1) run.pause();
    };
    await vi.waitFor(() => expect(received).toBe(1));
    let before = -1;
    await vi.waitFor(() => {
      const isStill = written === before;
      before = written;
      expect(isStill).toBe(true);
    });
    expect(received).toBe(1);
    // What is left is what the kernel's two socket buffers take.
    expect(written).toBeLessThan(300);
    run.resume();
    expect(await listener.result()).toBe("ok");
    expect(received).toBe(1000);
  });

  test("what was received whole is read whole, however late", async () => {
    const closed = Promise.withResolvers<void>();
    server.onDownload = (response) => {
      response.writeHead(200, { "content-type": "application/connect+proto", connection: "close" });
      response.write(text("a"));
      response.on("close", closed.resolve);
    };
    const { run, listener } = start();
    listener.onMessage = () => run.pause();
    await listener.until(() => listener.messages.length === 1);
    server.downloads[0]?.response.end(Buffer.concat([text("b"), END]));
    await closed.promise;
    listener.onMessage = undefined;
    run.resume();
    expect(await listener.result()).toBe("ok");
    expect(listener.messages).toEqual(["a", "b"]);
  });

  test("SEC-75: close waits for what is open and takes nothing new", async () => {
    const { listener } = start();
    await listener.until(() => listener.opened.length === 1);
    const closing = transport.close();
    expect(await start().listener.result()).toBe("transport_closed");
    server.downloads[0]?.response.end(END);
    expect(await listener.result()).toBe("ok");
    await closing;
  });
});
