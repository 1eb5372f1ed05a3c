import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, LookupFunction } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, it } from "vitest";
import { createGuardedFetch } from "../../../src/mcp/oauth/guarded-fetch.ts";
import { makeCertificate } from "../../wire/support/certificate.ts";

/** Ends a fetch that is allowed before it connects. */
const aborted = { signal: AbortSignal.abort() };

const fetchFrom = (server: string, address: string) =>
  createGuardedFetch("srv", new URL(server))(address, aborted).then(
    () => "fetched",
    (error) => (error.code === "mcp_oauth_address_refused" ? "refused" : error.name),
  );

const ALLOWED = "AbortError";

const here: LookupFunction = (_host, options, callback) => {
  if (options.all) callback(null, [{ address: "127.0.0.1", family: 4 }]);
  else callback(null, "127.0.0.1", 4);
};

describe("an address that an MCP server names (SEC-43)", () => {
  const ADDRESSES = {
    machine: ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"],
    network: ["10.0.0.9", "192.168.1.1", "172.16.0.1", "[fd00::1]"],
    nobody: ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::]"],
    internet: ["8.8.8.8", "[2606:4700::1111]"],
  };
  const SERVERS = {
    machine: { server: "http://127.0.0.1:1", allowed: ["machine", "network", "internet"] },
    network: { server: "https://10.0.0.5", allowed: ["network", "internet"] },
    internet: { server: "https://8.8.4.4", allowed: ["internet"] },
    "nobody knows where": { server: "https://server.invalid", allowed: ["internet"] },
  };
  const cases = Object.entries(SERVERS).flatMap(([where, { server, allowed }]) =>
    Object.entries(ADDRESSES).flatMap(([reach, hosts]) =>
      hosts.map((host) => [where, server, host, allowed.includes(reach) ? ALLOWED : "refused"] as const),
    ),
  );

  it.each(cases)("by a server in %s (%s): %s → %s", async (_, server, host, expected) => {
    expect(await fetchFrom(server, `https://${host}/authorize`)).toBe(expected);
  });

  it("is any if it is the server's own", async () => {
    expect(await fetchFrom("https://169.254.169.254", "https://169.254.169.254/authorize")).toBe(ALLOWED);
  });

  it.each([
    ["http://127.0.0.1:1", "http://127.0.0.1:2/", ALLOWED],
    ["http://127.0.0.1:1", "http://localhost:2/", ALLOWED],
    ["http://127.0.0.1:1", "http://10.0.0.9/", "refused"],
    ["https://10.0.0.5", "http://127.0.0.1:2/", "refused"],
    ["https://8.8.4.4", "http://8.8.8.8/", "refused"],
    ["https://8.8.4.4", "https://me:secret@8.8.8.8/", "refused"],
  ])("needs TLS off this machine, and no credentials: %s names %s", async (server, address, expected) => {
    expect(await fetchFrom(server, address)).toBe(expected);
  });

  it.each(["http", "https"])(
    "A30 is not on this machine because the server's name leads here, over %s",
    async (scheme) => {
      let count = 0;
      const inner = createServer((_, response) => response.end(String(++count)));
      // Somebody on this machine, without the certificate of the server.
      const impostor = createTlsServer(makeCertificate("other.test"), (_, response) => response.end());
      for (const one of [inner, impostor]) await once(one.listen(0, "127.0.0.1"), "listening");
      const [port, tlsPort] = [inner, impostor].map((one) => (one.address() as AddressInfo).port);
      try {
        const server = new URL(`${scheme}://server.test:${scheme === "http" ? port : tlsPort}`);
        const fetch = createGuardedFetch("srv", server, here);
        for (const named of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`, `https://other.test:${port}/`]) {
          await expect(fetch(named, { method: "POST", body: "a=1" })).rejects.toThrow(/more private|not https/);
        }
        expect(count).toBe(0);
      } finally {
        inner.close();
        impostor.close();
      }
    },
  );

  it("A30 is in this network where the server proves there who it is", async () => {
    const own = makeCertificate("server.test");
    const server = createTlsServer(own, (_, response) => response.end());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    setDefaultCACertificates([own.cert.toString()]);
    try {
      const fetch = createGuardedFetch("srv", new URL(`https://server.test:${port}`), here);
      await expect(fetch("https://10.0.0.9/", aborted)).rejects.toThrow("aborted");
      await expect(fetch("https://127.0.0.1/", aborted)).rejects.toThrow("more private");
    } finally {
      setDefaultCACertificates(getCACertificates("bundled"));
      server.close();
    }
  });
});
