import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import type { HttpTransport } from "../../../src/wire/http/http.ts";
import { makeCertificate } from "../support/certificate.ts";

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const { key, cert } = makeCertificate("127.0.0.1");
const CONNECT_TIMEOUT_MS = 500;

async function setUp(scheme: "http" | "https", listener: RequestListener) {
  const server = scheme === "http" ? createServer(listener) : createTlsServer({ key, cert }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const transport = createHttp1Transport({
    ca: cert,
    limits: { connectTimeoutMs: CONNECT_TIMEOUT_MS, maxShortSockets: 1 },
  });
  cleanups.push(
    () => server.close(),
    () => transport.destroy(),
  );
  return { transport, origin: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const request = (transport: HttpTransport, origin: string) =>
  new Promise<string>((resolve) => {
    const exchange = transport.open(
      { origin, path: "/", headers: {} },
      {
        head: () => {},
        data: () => {},
        end: () => resolve("ok"),
        fail: (error, reached) => resolve(`${error.code}, reached: ${reached}`),
      },
    );
    exchange.end();
  });

test.each(["http", "https"] as const)(
  "a request that waited for a socket has as long for its answer as any other, over %s",
  async (scheme) => {
    let served = 0;
    const { transport, origin } = await setUp(scheme, (_, response) => {
      setTimeout(() => response.end("ok"), served++ === 0 ? 0 : 2 * CONNECT_TIMEOUT_MS);
    });
    expect(await Promise.all([request(transport, origin), request(transport, origin)])).toEqual(["ok", "ok"]);
  },
);

test("a socket that many requests waited for carries no listeners of theirs", async () => {
  const warned = vi.fn();
  process.on("warning", warned);
  cleanups.push(() => process.off("warning", warned));
  const { transport, origin } = await setUp("http", (_, response) => response.end("ok"));
  const answers = await Promise.all(Array.from({ length: 30 }, () => request(transport, origin)));
  expect(answers).toEqual(Array(30).fill("ok"));
  expect(warned).not.toHaveBeenCalled();
});

test("what is cut on a socket that a request waited for may have reached the server", async () => {
  let served = 0;
  const { transport, origin } = await setUp("http", (_, response) => {
    if (served++ === 0) response.end("ok");
    else response.destroy();
  });
  const answers = await Promise.all([request(transport, origin), request(transport, origin)]);
  expect(answers).toEqual(["ok", "connection_reset, reached: true"]);
});
