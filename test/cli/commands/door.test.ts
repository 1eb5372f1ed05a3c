import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { excursor } from "../support/excursor.ts";

function makeHome(name = ""): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-door-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, name);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return home;
}

function setUp(home = makeHome()) {
  const environment = { EXCURSOR_HOME: home, HOME: home };
  const run = (...args: string[]) => excursor(args, { environment }).exited;
  const serve = async (...flags: string[]) => {
    const gateway = excursor(["serve", "--demo", "--json", "--log-level", "error", ...flags], { environment });
    const { url, port } = JSON.parse(await gateway.firstLine()) as { url: string; port: number };
    const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
      gateway.child.kill(signal);
      await gateway.exited;
    };
    return { url, port: String(port), stop };
  };
  const doors = () => readdirSync(home).filter((name) => name.endsWith(".door"));
  return { home, run, serve, doors };
}

/** Another user's program, which answers everything with the same JSON or redirect. */
async function stranger(reply: object, location?: string) {
  const seen: IncomingMessage[] = [];
  const server = createServer((asked, response) => {
    seen.push(asked);
    response.writeHead(location === undefined ? 200 : 307, {
      "content-type": "application/json",
      ...(location !== undefined && { location }),
    });
    response.end(JSON.stringify(reply));
  });
  let connections = 0;
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { port: String(port), url: `http://127.0.0.1:${port}`, seen, connections: () => connections };
}

describe("the door of a gateway", () => {
  it("whoever else has the port gets no key and not even a connection (A22)", async () => {
    const { run, home } = setUp();
    const { port, connections } = await stranger({ status: "ok", face: "cursor", data: [], path: "/ui/link/x" });
    expect((await run("key")).code).toBe(0);
    const environment = { EXCURSOR_HOME: home, HOME: home, EXCURSOR_PORT: port };
    const commands = [
      ["models"],
      ["chat", "hello"],
      ["ui", "--no-open"],
      ["env"],
      ["run", "--", "true"],
      ["connect", "claude-code"],
      ["connect", "cursor"],
    ];
    for (const command of commands) {
      const { code, stdout, stderr } = await excursor(command, { environment }).exited;
      expect([code, stdout], command.join(" ")).toEqual([69, ""]);
      expect(stderr).toContain("No gateway answers");
    }
    expect(connections()).toBe(0);
  }, 60_000);

  it("needs no key, and refuses a wrong one", async () => {
    const { run, serve, doors } = setUp();
    const { stop, url } = await serve("--port", "0", "--key", "a-key-that-only-the-gateway-knows");
    expect((await run("models")).code).toBe(0);
    expect((await run("ui", "--no-open")).stdout).toContain(`${url}/ui/link/`);
    expect((await run("models", "--key", "another-key-0123456789")).code).toBe(77);
    // The home folder's key is not this gateway's, so no program gets it.
    expect(await run("env")).toMatchObject({ code: 77, stdout: "" });
    expect(doors()).toHaveLength(1);
    await stop();
    expect(doors()).toEqual([]);
  }, 60_000);

  it("sends programs and browsers only to the address that the gateway has (A22)", async () => {
    const { home, serve, run } = setUp();
    await serve("--port", "0");
    const environment = { EXCURSOR_HOME: home, HOME: home, EXCURSOR_HOST: "127.0.0.2" };
    for (const command of [["env"], ["ui", "--no-open"], ["run", "--cursor-url", "http://a", "--", "true"]]) {
      const refused = await excursor(command, { environment }).exited;
      expect(refused, command.join(" ")).toMatchObject({ code: 78, stdout: "" });
      expect(refused.stderr).toContain("The gateway listens on http://127.0.0.1:");
    }
    expect((await run("env")).stdout).toContain("http://127.0.0.1:");
  }, 60_000);

  it("of a killed gateway is no door, and is replaced at the next start", async () => {
    const { run, serve, doors } = setUp();
    const killed = await serve("--port", "0");
    await killed.stop("SIGKILL");
    expect(doors()).toHaveLength(1);
    expect(await run("models")).toMatchObject({ code: 69 });
    await serve("--port", killed.port);
    expect(doors()).toHaveLength(1);
    expect(await run("models")).toMatchObject({ code: 0 });
  }, 60_000);

  it("is chosen by its port, if there are several", async () => {
    const { run, serve } = setUp();
    const [first, second] = [await serve("--port", "0"), await serve("--port", "0")];
    const unclear = await run("env");
    expect(unclear).toMatchObject({ code: 78, stdout: "" });
    expect(unclear.stderr).toContain(first.port);
    for (const { port, url } of [first, second])
      expect((await run("env", "--port", port)).stdout).toContain(`${url}/v1`);
    await first.stop();
    expect((await run("env")).stdout).toContain(`${second.url}/v1`);
    expect((await run("env", "--port", first.port)).code).toBe(69);
  }, 60_000);

  it("is in a runtime folder of this user, if its path would be too long", async () => {
    const { run, serve, doors } = setUp(makeHome("a".repeat(120)));
    const { stop } = await serve("--port", "0");
    expect(doors()).toEqual([]);
    expect((await run("models")).code).toBe(0);
    await stop();
  }, 60_000);

  it("is not used in a folder that others can enter", async () => {
    const { run, serve, home } = setUp();
    await serve("--port", "0");
    chmodSync(home, 0o755);
    expect(await run("models")).toMatchObject({ code: 77, stderr: expect.stringContaining("chmod 700") });
  }, 60_000);

  it("has the guards of the other listener", async () => {
    const { serve, home, doors } = setUp();
    await serve("--port", "0");
    const ask = async (path: string, method: string, headers: Record<string, string>) => {
      const sent = request({ socketPath: join(home, doors()[0] ?? ""), path, method, headers }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect(await ask("/v1/models", "GET", { host: "localhost" })).toBe(200);
    expect(await ask("/v1/models", "GET", { host: "evil.example" })).toBe(421);
    expect(await ask("/v1/models", "GET", { host: "localhost", origin: "http://evil.example" })).toBe(403);
    expect(await ask("/ui/links", "POST", { host: "localhost" })).toBe(415);
  }, 60_000);
});

describe("an address that the user typed", () => {
  it("chooses no other host for the browser (A23)", async () => {
    const { run } = setUp();
    for (const path of [
      "@login.evil.example/",
      "//login.evil.example/",
      ".evil.example/ui/link/x",
      "/ui/link/x/../../y",
    ]) {
      const { url } = await stranger({ path, expiresInMs: 1 });
      expect(await run("ui", "--no-open", "--url", url), path).toMatchObject({ code: 69, stdout: "" });
    }
  }, 60_000);

  it("gives the key to no other host (A22)", async () => {
    const { run } = setUp();
    const other = await stranger({ data: [] });
    const { url, seen } = await stranger({}, `${other.url}/v1/models`);
    expect((await run("models", "--url", url)).code).toBe(69);
    expect([seen.length, other.connections()]).toEqual([1, 0]);
  });
});
