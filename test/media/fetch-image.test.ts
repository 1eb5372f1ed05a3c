import { once } from "node:events";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import type { FetchOptions } from "../../src/media/fetch-image.ts";
import { createImageLoader } from "../../src/media/image-loader.ts";
import { connectPinned, type PinnedTarget } from "../../src/media/pinned-connection.ts";
import { makeCertificate } from "../wire/support/certificate.ts";
import { PNG } from "./support.ts";

const HOST = "images.test";
const PUBLIC = "93.184.216.34";
const { key, cert } = makeCertificate(HOST);
const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A server that a loader reaches under public names and addresses, and what passed between the two. */
async function setUp(listener: RequestListener, options: Partial<FetchOptions> = {}) {
  const server = createServer({ key, cert }, listener).listen(0, "127.0.0.1");
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const targets: PinnedTarget[] = [];
  const lookups: string[] = [];
  const loader = createImageLoader({
    mode: "fetch",
    lookup: async (host) => {
      lookups.push(host);
      return [PUBLIC];
    },
    connect: (target) => {
      targets.push(target);
      return connectTls({ host: "127.0.0.1", port, servername: target.host, ca: cert });
    },
    ...options,
  });
  return { loader, targets, lookups, port };
}

const load = (loader: ReturnType<typeof createImageLoader>, path = "/a.png?x=1") =>
  loader.load(`https://${HOST}${path}`);
const failed = { kind: "invalid-request", code: "image_fetch_failed" };

describe("an image from the internet", () => {
  test("comes with its true type, asked for without anything of ours", async () => {
    let [path, headers]: [string | undefined, IncomingHttpHeaders] = [undefined, {}];
    const { loader, targets, lookups } = await setUp((request, response) => {
      [path, headers] = [request.url, request.headers];
      response.writeHead(200, { "content-type": "text/html" }).end(PNG);
    });
    expect(await load(loader)).toEqual({ type: "image", mediaType: "image/png", data: PNG });
    expect(path).toBe("/a.png?x=1");
    expect(headers).toEqual({
      host: HOST,
      accept: "image/png, image/jpeg, image/gif, image/webp",
      "accept-encoding": "identity",
      "user-agent": "excursor",
      connection: "close",
    });
    expect(targets).toEqual([{ host: HOST, port: 443, addresses: [PUBLIC] }]);
    expect(lookups).toEqual([HOST]);
  });

  test("that is none is refused", async () => {
    const { loader } = await setUp((_, response) => response.end("<svg/>"));
    await expect(load(loader)).rejects.toMatchObject({ code: "image_invalid" });
  });

  test.each([
    ["by its declared length", { "content-length": "1000" }],
    ["by what really comes", {}],
  ])("that is too large is dropped %s", async (_, headers) => {
    const { loader } = await setUp((_, response) => response.writeHead(200, headers).end(Buffer.alloc(1000)), {
      maxBytes: 999,
    });
    await expect(load(loader)).rejects.toMatchObject({ kind: "invalid-request", code: "image_too_large" });
  });

  test.each<[string, RequestListener]>([
    ["an error", (_, response) => response.writeHead(404).end(PNG)],
    ["a part", (_, response) => response.writeHead(206).end(PNG)],
    ["a compressed answer", (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(PNG)],
    [
      "a torn answer",
      (_, response) => response.writeHead(200, { "content-length": "99" }).write(PNG, () => response.destroy()),
    ],
    ["headers without end", (_, response) => response.writeHead(200, { x: "y".repeat(20_000) }).end(PNG)],
    ["no HTTP", (request) => request.socket.end("hello")],
  ])("does not come from %s", async (_, listener) => {
    const { loader } = await setUp(listener);
    await expect(load(loader)).rejects.toMatchObject({
      ...failed,
      message: `The image at ${HOST} could not be fetched.`,
    });
  });

  test.each<[string, RequestListener]>([
    ["headers", () => {}],
    ["a body", (_, response) => response.writeHead(200).write(PNG)],
  ])("is not waited for without end: %s", async (_, listener) => {
    const { loader } = await setUp(listener, { timeoutMs: 100 });
    await expect(load(loader)).rejects.toMatchObject({ ...failed, context: { reason: "timeout" } });
  });

  test("nor is a name", async () => {
    const { loader, targets } = await setUp(() => {}, { timeoutMs: 20, lookup: () => new Promise(() => {}) });
    await expect(load(loader)).rejects.toMatchObject({ ...failed, context: { reason: "timeout" } });
    expect(targets).toEqual([]);
  });

  test("comes from who has the certificate for it", async () => {
    const { loader } = await setUp((_, response) => response.end(PNG));
    await expect(loader.load("https://other.test/a.png")).rejects.toMatchObject({
      ...failed,
      context: { reason: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
  });
});

describe("redirects", () => {
  const redirecting = (...locations: string[]): RequestListener => {
    const left = [...locations];
    return (_, response) => {
      const location = left.shift();
      if (location === undefined) response.end(PNG);
      else response.writeHead(302, { location }).end();
    };
  };

  test("are followed, relative ones too, each with a look of its own", async () => {
    const { loader, targets } = await setUp(redirecting("/b", `//${HOST}/c`, `https://${HOST}:443/d`));
    expect(await load(loader)).toMatchObject({ mediaType: "image/png" });
    expect(targets).toHaveLength(4);
  });

  test("end after three", async () => {
    const { loader, targets } = await setUp(redirecting("/b", "/c", "/d", "/e"));
    await expect(load(loader)).rejects.toMatchObject(failed);
    expect(targets).toHaveLength(4);
  });

  test.each([
    "https://127.0.0.1/",
    "http://images.test/",
    "https://[::ffff:10.0.0.1]/",
    "https://images.test:8443/",
    "https://user:pw@images.test/",
    "file:///etc/passwd",
    "data:image/png;base64,iVBORw0KGgo=",
    "https://[broken",
  ])("do not lead to %s, and do not tell so", async (location) => {
    const { loader, targets } = await setUp(redirecting(location));
    await expect(load(loader)).rejects.toMatchObject({
      ...failed,
      message: `The image at ${HOST} could not be fetched.`,
    });
    expect(targets).toHaveLength(1);
  });

  test("a name that changes its mind between two steps is seen", async () => {
    const answers = [[PUBLIC], ["127.0.0.1"]];
    const { loader, targets } = await setUp(redirecting("/again"), { lookup: async () => answers.shift() ?? [] });
    await expect(load(loader)).rejects.toMatchObject({ ...failed, context: { reason: "address not public" } });
    expect(targets).toHaveLength(1);
  });
});

describe("the pin", () => {
  test("a name is asked for once: what is connected to is what was checked", async () => {
    const answers = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]];
    const { loader, targets } = await setUp((_, response) => response.end(PNG), {
      lookup: async () => answers.shift() ?? [],
    });
    await load(loader);
    expect(targets).toEqual([{ host: HOST, port: 443, addresses: [PUBLIC] }]);
    expect(answers).toHaveLength(2);
  });

  test("connects to the address and asks no resolver, but wants the name's certificate", async () => {
    const { port } = await setUp((_, response) => response.end(PNG));
    const socket = connectPinned({ host: HOST, port, addresses: ["127.0.0.1"] }, cert);
    cleanups.push(() => socket.destroy());
    await once(socket, "secureConnect");
    expect(socket).toMatchObject({ authorized: true, remoteAddress: "127.0.0.1", remotePort: port });
  });
});
