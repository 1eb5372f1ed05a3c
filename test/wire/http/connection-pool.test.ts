import { spawn } from "node:child_process";
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { BidiRun } from "../../../src/wire/connect/bidi-run.ts";
import { encodeFrame, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { type ConnectionPool, createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import type { WireLimits } from "../../../src/wire/limits.ts";
import { makeCertificate } from "../support/certificate.ts";
import { Recorder } from "../support/listener.ts";
import { RawH2Server } from "../support/raw-h2.ts";

const END = encodeFrame(Buffer.from("{}"), FLAG_END);
const MAX_CONCURRENT_STREAMS = 3;

const open: Array<() => unknown> = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function newPool(limits: Partial<WireLimits> = {}, ca?: Buffer): ConnectionPool {
  const pool = createConnectionPool({ limits, ...(ca && { ca }) });
  open.push(() => pool.destroy());
  return pool;
}

async function rawServer(): Promise<[origin: string, server: RawH2Server]> {
  const server = new RawH2Server();
  open.push(() => server.close());
  return [await server.listen(), server];
}

async function listen(server: Http2Server, scheme = "http"): Promise<string> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
    session.on("close", () => sessions.delete(session));
  });
  server.on("sessionError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function start(transport: ConnectionPool, origin: string) {
  const listener = new Recorder();
  const run = new BidiRun({ transport, origin, headers: {}, listener });
  run.send(Buffer.from("q"));
  return { run, listener };
}

describe("sharing", () => {
  test("one connection for many streams", async () => {
    const [origin, server] = await rawServer();
    server.onRequest = (stream) => {
      stream.head();
      stream.data(END, true);
    };
    const pool = newPool();
    const results = await Promise.all(Array.from({ length: 50 }, () => start(pool, origin).listener.result()));
    expect(new Set(results)).toEqual(new Set(["ok"]));
    expect(server.connections).toHaveLength(1);
  });

  test("REL-02: the peer's stream limit is kept, with no more connections than it takes", async () => {
    let most = 0;
    let sessions = 0;
    const server = createServer({ settings: { maxConcurrentStreams: 10 } });
    server.on("session", (session) => {
      sessions++;
      let count = 0;
      session.on("stream", (stream) => {
        stream.on("error", () => {});
        most = Math.max(most, ++count);
        stream.on("close", () => count--);
        stream.respond({ "content-type": "application/connect+proto" });
        streams.push(() => stream.end(END));
      });
    });
    const streams: Array<() => void> = [];
    const origin = await listen(server);
    const pool = newPool();
    const runs = Array.from({ length: 95 }, () => start(pool, origin));
    await vi.waitFor(() => expect(streams).toHaveLength(95));
    expect(pool.stats()).toEqual({ connections: 10, streams: 95, waiting: 0 });
    for (const end of streams) end();
    for (const { listener } of runs) expect(await listener.result()).toBe("ok");
    expect(most).toBeLessThanOrEqual(10);
    expect(sessions).toBeLessThanOrEqual(11);
  });

  test("beyond the limit on connections exchanges wait for their turn", async () => {
    const server = createServer({ settings: { maxConcurrentStreams: 2 } });
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond({ "content-type": "application/connect+proto" });
      setImmediate(() => stream.end(END));
    });
    const origin = await listen(server);
    const pool = newPool({ maxConnections: 2 });
    const results = await Promise.all(Array.from({ length: 40 }, () => start(pool, origin).listener.result()));
    expect(results.filter((result) => result === "ok")).toHaveLength(40);
    expect(pool.stats().connections).toBeLessThanOrEqual(2);
  });

  test("a limit of zero is a pause, not a reason for more connections", async () => {
    const [origin, server] = await rawServer();
    server.onConnection = (connection) => connection.settings({ [MAX_CONCURRENT_STREAMS]: 0 });
    server.onRequest = (stream) => {
      stream.head();
      stream.data(END, true);
    };
    const pool = newPool();
    const { listener } = start(pool, origin);
    await vi.waitFor(() => expect(server.connections).toHaveLength(1));
    await server.connections[0]?.roundTrip();
    expect([server.connections.length, pool.stats().waiting]).toEqual([1, 1]);
    server.connections[0]?.settings({ [MAX_CONCURRENT_STREAMS]: 5 });
    expect(await listener.result()).toBe("ok");
  });

  test("the stream limit may shrink while streams are open", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool();
    start(pool, origin);
    await vi.waitFor(() => expect(server.connections[0]?.streams).toHaveLength(1));
    server.connections[0]?.settings({ [MAX_CONCURRENT_STREAMS]: 1 });
    await server.connections[0]?.roundTrip();
    start(pool, origin);
    await vi.waitFor(() => expect(server.connections[1]?.streams).toHaveLength(1));
    expect(server.connections[0]?.streams).toHaveLength(1);
  });
});

describe("REL-11: GOAWAY", () => {
  test("idle: the next request goes to a new connection", async () => {
    const [origin, server] = await rawServer();
    server.onRequest = (stream) => {
      stream.head();
      stream.data(END, true);
    };
    const pool = newPool();
    for (let n = 1; n <= 5; n++) {
      expect(await start(pool, origin).listener.result()).toBe("ok");
      server.connections.at(-1)?.goaway(1, 0);
      await vi.waitFor(() => expect(pool.stats().connections).toBe(0));
    }
    expect(server.connections).toHaveLength(5);
  });

  test("open streams finish, new ones go elsewhere", async () => {
    const [origin, server] = await rawServer();
    const ends: Array<() => void> = [];
    server.onRequest = (stream) => {
      stream.head();
      ends.push(() => stream.data(END, true));
    };
    const pool = newPool();
    const first = start(pool, origin).listener;
    await first.until(() => first.opened.length === 1);
    server.connections[0]?.goaway(1, 0);
    await server.connections[0]?.roundTrip();
    const second = start(pool, origin).listener;
    await second.until(() => second.opened.length === 1);
    expect(server.connections).toHaveLength(2);
    expect(pool.stats()).toMatchObject({ connections: 2, streams: 2 });
    for (const end of ends) end();
    expect([await first.result(), await second.result()]).toEqual(["ok", "ok"]);
    await vi.waitFor(() => expect(pool.stats()).toMatchObject({ connections: 1, streams: 0 }));
  });

  test.each([0, 2, 11])("a stream above the last one named moves, code %i", async (code) => {
    const [origin, server] = await rawServer();
    server.onRequest = (stream) => {
      if (server.connections.length === 1) {
        stream.connection.goaway(0, code);
        return;
      }
      stream.head();
      stream.data(END, true);
    };
    expect(await start(newPool(), origin).listener.result()).toBe("ok");
    expect(server.connections).toHaveLength(2);
  });

  test("it moves once: a second time is the caller's to decide, and proven to be safe", async () => {
    const [origin, server] = await rawServer();
    server.onRequest = (stream) => stream.connection.goaway(0, 0);
    const { error, end } = await start(newPool(), origin).listener.outcome();
    expect(error).toMatchObject({ kind: "upstream-unavailable" });
    expect(end.reached).toBe(false);
    expect(server.connections).toHaveLength(2);
  });

  test("a stream that may have been seen does not move", async () => {
    const [origin, server] = await rawServer();
    server.onRequest = (stream) => stream.connection.goaway(stream.id, 2);
    const { error, end } = await start(newPool(), origin).listener.outcome();
    expect(error).toMatchObject({ context: { http2Code: 2 } });
    expect(end.reached).toBe(true);
    expect(server.connections).toHaveLength(1);
  });

  test("ENHANCE_YOUR_CALM doubles the time between probes", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool({ pingIntervalMs: 60 });
    start(pool, origin);
    await vi.waitFor(() => expect(server.connections[0]?.streams).toHaveLength(1));
    server.connections[0]?.goaway(1, 11);
    await vi.waitFor(() => expect(pool.stats().connections).toBe(0));
    const startedAt = performance.now();
    start(pool, origin);
    await vi.waitFor(() => expect(server.connections[1]?.pings).not.toHaveLength(0));
    expect(server.connections[1]?.pings[0]).toBeGreaterThan(startedAt + 115);
  });

  async function storm(server: Http2Server, scheme: string, rounds: number, ca?: Buffer): Promise<number> {
    let goaways = 0;
    server.on("session", (session) => {
      let seen = 0;
      session.on("stream", (stream) => {
        stream.on("error", () => {});
        stream.respond({ "content-type": "application/connect+proto" });
        setImmediate(() => stream.end(END));
        // In the middle of things, gracefully: open streams are answered. Rarely enough to refuse nobody twice.
        if (++seen === 9) {
          goaways++;
          session.close();
        }
      });
    });
    const origin = await listen(server, scheme);
    const pool = newPool({}, ca);
    const results = new Map<string, number>();
    const count = (result: string) => results.set(result, (results.get(result) ?? 0) + 1);
    while (goaways < rounds) {
      await Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          for (let turn = 0; turn < n; turn++) await new Promise(setImmediate);
          count(await start(pool, origin).listener.result());
        }),
      );
    }
    expect([...results.keys()]).toEqual(["ok"]);
    await pool.close();
    expect(pool.stats()).toEqual({ connections: 0, streams: 0, waiting: 0 });
    return goaways;
  }

  test("1,000 of them racing requests: no run lost, no exception", async () => {
    expect(await storm(createServer(), "http", 1000)).toBeGreaterThanOrEqual(1000);
  }, 60_000);

  test("100 of them over TLS", async () => {
    const { key, cert } = makeCertificate("127.0.0.1");
    expect(await storm(createSecureServer({ key, cert }), "https", 100, cert)).toBeGreaterThanOrEqual(100);
  }, 60_000);

  test("200 connections that refuse their newest stream, racing requests", async () => {
    const [origin, server] = await rawServer();
    const counts = new Map<unknown, number>();
    server.onRequest = (stream) => {
      const seen = (counts.get(stream.connection) ?? 0) + 1;
      counts.set(stream.connection, seen);
      if (seen === 3) stream.connection.goaway(stream.id - 2, 0);
      if (seen >= 3) return;
      stream.head();
      stream.data(END, true);
    };
    const pool = newPool();
    while (server.connections.length < 200) {
      const outcomes = await Promise.all(Array.from({ length: 2 }, () => start(pool, origin).listener.outcome()));
      // Two at a time, so that nobody is refused twice.
      for (const { error } of outcomes) expect(error).toBeUndefined();
    }
  }, 60_000);
});

describe("resets", () => {
  /** A peer that answers when it is told to. */
  async function patientServer() {
    const [origin, server] = await rawServer();
    const ends: Array<() => void> = [];
    server.onRequest = (stream) => {
      stream.head();
      ends.push(() => stream.data(END, true));
    };
    const begin = async (pool: ConnectionPool) => {
      const started = start(pool, origin);
      await started.listener.until(() => started.listener.opened.length === 1);
      return started;
    };
    const resets = () => server.connections.map((connection) => connection.resets.length);
    return { server, ends, begin, resets };
  }

  test("one connection is used for so many resets, then the next; what is open on the first goes on", async () => {
    const { server, ends, begin, resets } = await patientServer();
    const pool = newPool({ maxConnectionResets: 3 });
    const kept = await begin(pool);
    for (let n = 0; n < 10; n++) (await begin(pool)).run.cancel();
    await vi.waitFor(() => expect(resets()).toEqual([3, 3, 3, 1]));
    await vi.waitFor(() => expect(pool.stats()).toMatchObject({ connections: 2, streams: 1 }));
    ends[0]?.();
    expect(await kept.listener.result()).toBe("ok");
    await vi.waitFor(() => expect(pool.stats()).toMatchObject({ connections: 1, streams: 0 }));
    expect(server.connections).toHaveLength(4);
  });

  test("beyond that a stream is left to the peer to end, and not reset", async () => {
    const { ends, begin, resets } = await patientServer();
    const pool = newPool({ maxConnectionResets: 2 });
    const kept = await begin(pool);
    const others = await Promise.all(Array.from({ length: 5 }, () => begin(pool)));
    for (const { run } of others) run.cancel();
    for (const { listener } of others) expect(await listener.result()).toBe("canceled");
    await vi.waitFor(() => expect(pool.stats().streams).toBe(4));
    expect(resets()).toEqual([2]);
    ends.at(-1)?.();
    await vi.waitFor(() => expect(pool.stats().streams).toBe(3));
    ends[0]?.();
    expect(await kept.listener.result()).toBe("ok");
    // Nobody is left who reads: the connection goes, and the streams with it.
    await vi.waitFor(() => expect(pool.stats()).toEqual({ connections: 0, streams: 0, waiting: 0 }));
    expect(resets()).toEqual([2]);
  });

  test("a cancelled exchange that has no connection yet resets nothing", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool();
    const { run, listener } = start(pool, origin);
    run.cancel();
    expect(await listener.result()).toBe("canceled");
    await vi.waitFor(() => expect(server.connections).toHaveLength(1));
    await server.connections[0]?.roundTrip();
    expect(server.connections[0]?.streams).toEqual([]);
  });
});

describe("REL-13: liveness", () => {
  test("a peer that has stopped answering is found out by PING", async () => {
    const [origin, server] = await rawServer();
    server.onConnection = (connection) => {
      connection.answersPings = false;
      connection.settings();
    };
    const pool = newPool({ pingIntervalMs: 20, pingTimeoutMs: 30 });
    const { error, end } = await start(pool, origin).listener.outcome();
    expect(error).toMatchObject({ kind: "upstream-unavailable", code: "half_open" });
    expect(end.reached).toBe(true);
    expect(pool.stats()).toEqual({ connections: 0, streams: 0, waiting: 0 });
  });

  test("PINGs go on while streams are open, and only then", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool({ pingIntervalMs: 15, pingTimeoutMs: 1000 });
    const { run } = start(pool, origin);
    await vi.waitFor(() => expect(server.connections[0]?.pings.length).toBeGreaterThan(2));
    run.cancel();
    await vi.waitFor(() => expect(pool.stats().streams).toBe(0));
    await server.connections[0]?.roundTrip();
    const pings = server.connections[0]?.pings.length;
    // Silence can only be waited for.
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(server.connections[0]?.pings).toHaveLength(pings ?? 0);
    expect(pool.stats().connections).toBe(1);
  });

  test("an old connection takes no new streams", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool({ connectionMaxAgeMs: 30 });
    start(pool, origin);
    await vi.waitFor(() => expect(server.connections[0]?.streams).toHaveLength(1));
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now + 31);
    start(pool, origin);
    vi.restoreAllMocks();
    await vi.waitFor(() => expect(server.connections[1]?.streams).toHaveLength(1));
    expect(pool.stats()).toMatchObject({ connections: 2, streams: 2 });
  });

  test("an idle connection is closed", async () => {
    const [origin] = await rawServer();
    const pool = newPool({ connectionIdleMs: 20 });
    const { run } = start(pool, origin);
    await vi.waitFor(() => expect(pool.stats().streams).toBe(1));
    run.cancel();
    await vi.waitFor(() => expect(pool.stats().connections).toBe(0));
  });
});

describe("REL-24: connections that are never made", () => {
  const failures = async (origin: string, limits: Partial<WireLimits> = {}, ca?: Buffer) => {
    const { error, end } = await start(newPool(limits, ca), origin).listener.outcome();
    expect(end.reached).toBe(false);
    expect(error?.cause).toBeDefined();
    return error;
  };

  test.each(["", "api2.cursor.sh", "ftp://x", "http://"])("an address that is none: %j", (origin) => {
    expect(() => start(newPool(), origin)).toThrow(expect.objectContaining({ kind: "config", code: "invalid_origin" }));
  });

  test("no such host", async () => {
    expect(await failures("https://nowhere.invalid")).toMatchObject({
      kind: "upstream-unavailable",
      code: "dns_failure",
      message: "nowhere.invalid cannot be found.",
    });
  });

  test("refused", async () => {
    const server = createTcpServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await failures(`http://127.0.0.1:${port}`)).toMatchObject({ code: "connection_refused", retryable: true });
  });

  test("a peer that accepts and says nothing", async () => {
    const server = createTcpServer((socket) => sockets.push(socket.on("error", () => {})));
    const sockets: Array<{ destroy(): void }> = [];
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    for (const scheme of ["http", "https"]) {
      const error = await failures(`${scheme}://127.0.0.1:${port}`, { connectTimeoutMs: 60 });
      expect(error).toMatchObject({ kind: "timeout", code: "connect_timeout" });
    }
  });

  test("a peer that speaks HTTP/1.1", async () => {
    const server = createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(() => server.close());
    const error = await failures(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(error).toMatchObject({ kind: "upstream-protocol", code: "http_invalid" });
  });

  test.each<[name: string, host: string, days: number, trusted: boolean, code: string]>([
    ["an unknown issuer", "127.0.0.1", 2, false, "tls_untrusted"],
    ["another name", "other.test", 2, true, "tls_wrong_name"],
    ["an expired certificate", "127.0.0.1", -1, true, "tls_expired"],
  ])("TLS with %s", async (_, host, days, trusted, code) => {
    const { key, cert } = makeCertificate(host, { days });
    const origin = await listen(createSecureServer({ key, cert }), "https");
    const error = await failures(origin, {}, trusted ? cert : undefined);
    expect(error).toMatchObject({ kind: "upstream-unavailable", code, retryable: false });
    expect(error?.hint).toBeDefined();
  });

  test("TLS without HTTP/2", async () => {
    const { createServer: createTls } = await import("node:tls");
    const { key, cert } = makeCertificate("127.0.0.1");
    for (const ALPNProtocols of [["http/1.1"], undefined]) {
      const server = createTls({ key, cert, ...(ALPNProtocols && { ALPNProtocols }) }, (socket) => {
        socket.on("error", () => {});
      });
      server.on("tlsClientError", () => {});
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      open.push(() => server.close());
      const error = await failures(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, {}, cert);
      expect(error).toMatchObject({ kind: "upstream-protocol", code: "http2_unavailable" });
    }
  });

  test("after a failure the next request tries anew", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool();
    server.onConnection = (connection) => connection.socket.destroy();
    expect(await start(pool, origin).listener.result()).toBe("connection_reset");
    server.onConnection = (connection) => connection.settings();
    server.onRequest = (stream) => {
      stream.head();
      stream.data(END, true);
    };
    expect(await start(pool, origin).listener.result()).toBe("ok");
  });
});

describe("SEC-75: leaving", () => {
  test("close waits for open streams and takes no new ones", async () => {
    const [origin, server] = await rawServer();
    const ends: Array<() => void> = [];
    server.onRequest = (stream) => {
      stream.head();
      ends.push(() => stream.data(END, true));
    };
    const pool = newPool();
    const { listener } = start(pool, origin);
    await vi.waitFor(() => expect(ends).toHaveLength(1));
    let isClosed = false;
    const closing = pool.close().then(() => {
      isClosed = true;
    });
    expect(await start(pool, origin).listener.result()).toBe("transport_closed");
    expect(await start(pool, "http://127.0.0.1:9").listener.result()).toBe("transport_closed");
    expect(isClosed).toBe(false);
    for (const end of ends) end();
    expect(await listener.result()).toBe("ok");
    await closing;
    expect(pool.stats()).toEqual({ connections: 0, streams: 0, waiting: 0 });
  });

  test("destroy cuts everything, connecting or open", async () => {
    const [origin, server] = await rawServer();
    const pool = newPool();
    const first = start(pool, origin).listener;
    await vi.waitFor(() => expect(server.connections[0]?.streams).toHaveLength(1));
    server.onConnection = () => {};
    const other = await rawServer();
    other[1].onConnection = () => {};
    const second = start(pool, other[0]).listener;
    pool.destroy();
    expect([await first.result(), await second.result()]).toEqual(["transport_closed", "transport_closed"]);
    expect(pool.stats()).toEqual({ connections: 0, streams: 0, waiting: 0 });
    await pool.close();
  });

  test.each<["idle" | "open", isAlive: boolean]>([
    ["idle", false],
    ["open", true],
  ])("a pool whose streams are %s keeps its process alive: %j", async (mode, isAlive) => {
    const [origin, server] = await rawServer();
    server.onRequest = (stream) => {
      stream.head();
      if (mode === "idle") stream.data(END, true);
    };
    const child = spawn(process.execPath, [
      fileURLToPath(new URL("../support/pool-process.ts", import.meta.url)),
      origin,
    ]);
    const exit = new Promise<string>((resolve) => child.once("exit", (code) => resolve(`exit ${code}`)));
    await vi.waitFor(() => expect(server.connections[0]?.streams).toHaveLength(1), 10_000);
    const stillRunning = new Promise<string>((resolve) => setTimeout(() => resolve("alive"), isAlive ? 500 : 10_000));
    expect(await Promise.race([exit, stillRunning])).toBe(isAlive ? "alive" : "exit 0");
    child.kill();
    await exit;
  });

  test("SEC-27, REL-03: after 300 faults nothing is left: no session, no stream, no socket", async () => {
    const [origin, server] = await rawServer();
    const before = openSockets();
    const pool = newPool({ lingerMs: 10 });
    let n = 0;
    server.onRequest = (stream) => {
      const fault = n++ % 6;
      if (fault === 0) stream.reset(2);
      if (fault === 1) stream.connection.goaway(stream.id, 0);
      if (fault !== 2) stream.head();
      if (fault === 2) stream.connection.socket.destroy();
      if (fault === 3) stream.data(Buffer.from([9, 9, 9, 9, 9]));
      if (fault === 4) stream.data(Buffer.alloc(3), true);
      if (fault === 5 || fault === 1) stream.data(END, true);
    };
    for (let round = 0; round < 100; round++) {
      await Promise.all(Array.from({ length: 3 }, () => start(pool, origin).listener.outcome()));
    }
    await pool.close();
    expect(pool.stats()).toEqual({ connections: 0, streams: 0, waiting: 0 });
    await vi.waitFor(() => expect(openSockets()).toBeLessThanOrEqual(before));
  });
});

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "TCPSocketWrap").length;
}
