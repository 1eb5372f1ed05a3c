import { createSecureServer } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { BidiRun } from "../../../src/wire/connect/bidi-run.ts";
import { encodeFrame, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import { callHttp } from "../../../src/wire/http/http-call.ts";
import { type FindProxy, proxyFromEnvironment, proxySecrets } from "../../../src/wire/http/proxy.ts";
import { wireLimits } from "../../../src/wire/limits.ts";
import { makeCertificate } from "../support/certificate.ts";
import { type ConnectProxy, startConnectProxy } from "../support/connect-proxy.ts";
import { Recorder } from "../support/listener.ts";

const NAME = "backend.test";
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function proxyWith(status?: number): Promise<ConnectProxy> {
  const proxy = await startConnectProxy(status);
  cleanups.push(() => proxy.close());
  return proxy;
}

/** An https server that nobody reaches by its name, except through the proxy. */
async function startBackend() {
  const { key, cert } = makeCertificate(NAME);
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    if (request.httpVersionMajor === 1) {
      response.end("over http/1.1");
      return;
    }
    response.setHeader("content-type", "application/connect+proto");
    response.end(encodeFrame(Buffer.from("{}"), FLAG_END));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  return { origin: `https://${NAME}:${(server.address() as AddressInfo).port}`, ca: cert };
}

function run(origin: string, ca: Buffer, findProxy: FindProxy): Promise<string> {
  const transport = createConnectionPool({ ca, findProxy });
  cleanups.push(() => transport.destroy());
  const listener = new Recorder();
  new BidiRun({ transport, origin, headers: {}, listener }).send(Buffer.from("q"));
  return listener.result();
}

async function call(origin: string, ca: Buffer, findProxy: FindProxy): Promise<string> {
  const transport = createHttp1Transport({ ca, findProxy });
  cleanups.push(() => transport.destroy());
  const request = { origin, path: "/", method: "GET", headers: {} } as const;
  try {
    const { body } = await callHttp({ transport, request, limits: wireLimits({}) });
    return body.toString();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("a proxy between us and the backend", () => {
  it("carries HTTP/2 and HTTP/1.1, with its credentials", async () => {
    const { origin, ca } = await startBackend();
    const proxy = await proxyWith();
    const findProxy = proxyFromEnvironment({ HTTPS_PROXY: `http://me:se%40cret@127.0.0.1:${proxy.port}` });
    expect(await run(origin, ca, findProxy)).toBe("ok");
    expect(await call(origin, ca, findProxy)).toBe("over http/1.1");
    const target = new URL(origin).host;
    const authorization = `Basic ${Buffer.from("me:se@cret").toString("base64")}`;
    expect(proxy.asked).toEqual([
      { target, authorization },
      { target, authorization },
    ]);
  });

  it("checks the backend's certificate through it", async () => {
    const { origin } = await startBackend();
    const proxy = await proxyWith();
    const findProxy = proxyFromEnvironment({ https_proxy: `127.0.0.1:${proxy.port}` });
    const other = makeCertificate(NAME).cert;
    expect(await run(origin, other, findProxy)).toBe("tls_untrusted");
    expect(await call(origin, other, findProxy)).toBe("tls_untrusted");
  });

  it.each([
    [403, "proxy_refused"],
    [407, "proxy_credentials"],
  ])("that answers with %i is told as such", async (status, code) => {
    const { origin, ca } = await startBackend();
    const proxy = await proxyWith(status);
    const findProxy = proxyFromEnvironment({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    expect(await run(origin, ca, findProxy)).toBe(code);
    expect(await call(origin, ca, findProxy)).toBe(code);
  });

  it.each([
    ["http://127.0.0.1:9", "connection_refused"],
    ["socks5://127.0.0.1:9", "invalid_proxy"],
  ])("that cannot be used is an error, never a way around it: %s", async (address, code) => {
    const { origin, ca } = await startBackend();
    const findProxy = proxyFromEnvironment({ HTTPS_PROXY: address });
    expect(await run(origin, ca, findProxy)).toBe(code);
    expect(await call(origin, ca, findProxy)).toBe(code);
  });

  it("that hangs is given up in time", async () => {
    const silent = createServer((socket) => {
      cleanups.push(() => socket.destroy());
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => silent.close());
    const findProxy = proxyFromEnvironment({ HTTPS_PROXY: `127.0.0.1:${(silent.address() as AddressInfo).port}` });
    const transport = createConnectionPool({ findProxy, limits: { connectTimeoutMs: 50 } });
    cleanups.push(() => transport.destroy());
    const listener = new Recorder();
    new BidiRun({ transport, origin: `https://${NAME}`, headers: {}, listener }).send(Buffer.from("q"));
    expect(await listener.outcome()).toMatchObject({ error: { kind: "timeout" }, end: { reached: false } });
  });
});

describe("which origins go through it", () => {
  it.each([
    ["https://api2.cursor.sh", "", true],
    ["http://api2.cursor.sh", "", false],
    ["https://localhost:8443", "", false],
    ["https://127.0.0.1:8443", "", false],
    ["https://[::1]:8443", "", false],
    ["https://api2.cursor.sh", "*", false],
    ["https://api2.cursor.sh", "example.com, cursor.sh", false],
    ["https://api2.cursor.sh", "example.com cursor.sh", false],
    ["https://api2.cursor.sh", ".cursor.sh", false],
    ["https://api2.cursor.sh", "*.cursor.sh", false],
    ["https://cursor.sh", ".cursor.sh", false],
    ["https://api2.cursor.sh", "API2.Cursor.SH", false],
    ["https://notcursor.sh", "cursor.sh", true],
    ["https://api2.cursor.sh", "cursor", true],
    ["https://api2.cursor.sh", "cursor.sh:443", false],
    ["https://api2.cursor.sh", "cursor.sh:8443", true],
    ["https://api2.cursor.sh:8443", "cursor.sh:8443", false],
    ["https://10.0.0.1", "10.0.0.1", false],
    ["https://[fd00::1]", "fd00::1", false],
    ["https://[fd00::1]:8443", "[fd00::1]:8443", false],
    ["https://[fd00::1]", "[fd00::1]:8443", true],
    ["https://api2.cursor.sh", ",, ,", true],
  ])("%s with NO_PROXY=%j: %s", (origin, exceptions, isProxied) => {
    for (const name of ["NO_PROXY", "no_proxy"]) {
      const findProxy = proxyFromEnvironment({ HTTPS_PROXY: "http://proxy.test:3128", [name]: exceptions });
      expect(findProxy(new URL(origin))?.origin).toBe(isProxied ? "http://proxy.test:3128" : undefined);
    }
  });

  it("none without the variable; in small letters it counts first", () => {
    expect(proxyFromEnvironment({})(new URL("https://x.test"))).toBeUndefined();
    const both = proxyFromEnvironment({ https_proxy: "http://small.test", HTTPS_PROXY: "http://large.test" });
    expect(both(new URL("https://x.test"))?.origin).toBe("http://small.test");
  });
});

it("the credentials of the proxy are secrets", () => {
  const environment = { HTTPS_PROXY: "http://me:se%40cret-word@proxy.test:3128" };
  expect(proxySecrets(environment)).toEqual([
    "se%40cret-word",
    "se@cret-word",
    Buffer.from("me:se@cret-word").toString("base64"),
  ]);
  const proxy = proxyFromEnvironment(environment)(new URL("https://x.test"));
  expect(JSON.stringify(proxy)).toBe('{"origin":"http://proxy.test:3128","authorization":"[redacted]"}');
  expect(proxySecrets({})).toEqual([]);
});
