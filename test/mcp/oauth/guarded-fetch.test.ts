import { describe, expect, it } from "vitest";
import { createGuardedFetch } from "../../../src/mcp/oauth/guarded-fetch.ts";

/** Ends a fetch that is allowed before it connects. */
const aborted = { signal: AbortSignal.abort() };

const fetchFrom = (server: string, address: string) =>
  createGuardedFetch("srv", new URL(server))(address, aborted).then(
    () => "fetched",
    (error) => (error.code === "mcp_oauth_address_refused" ? "refused" : error.name),
  );

const ALLOWED = "AbortError";

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
});
