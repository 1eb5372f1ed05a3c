import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createServerLogins } from "../../src/credentials/server-logins.ts";
import { ServerConnection } from "../../src/mcp/connection/server-connection.ts";
import { HUB_LIMITS } from "../../src/mcp/limits.ts";
import { createAuthorization } from "../../src/mcp/oauth/authorization.ts";
import { createGuardedFetch } from "../../src/mcp/oauth/guarded-fetch.ts";
import type { LoginStore } from "../../src/mcp/oauth/login-store.ts";
import { openLoopbackConsent } from "../../src/mcp/oauth/loopback-consent.ts";
import { revokeLogin } from "../../src/mcp/oauth/revoke-login.ts";
import { type HttpServer, readServers } from "../../src/mcp/servers/server-config.ts";
import { createWatchdog } from "../../src/process/watchdog.ts";
import { startOAuthServer } from "./support/oauth-server.ts";
import { context, textOf } from "./support/stage.ts";

const never = new AbortController().signal;

function newLogins(): LoginStore & { readonly path: string } {
  const home = mkdtempSync(join(tmpdir(), "excursor-oauth-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return createServerLogins({ home, keychain: undefined, onNotice: () => {} });
}

function serverAt(url: string, entry: object = {}): HttpServer {
  const variables = { environment: {}, userHome: "/", workspaceFolder: "/" };
  const { servers, problems } = readServers({ safe: { url, ...entry } }, "mcp.json", variables);
  if (servers[0]?.type !== "http") throw new Error(JSON.stringify(problems));
  return servers[0];
}

async function start(options: Parameters<typeof startOAuthServer>[0] = {}) {
  const fake = await startOAuthServer(options);
  onTestFinished(fake.close);
  return fake;
}

/** A connection with somebody who says yes, or with nobody. */
async function connect(server: HttpServer, logins: LoginStore, { hasPerson }: { hasPerson: boolean }) {
  const pages: URL[] = [];
  const show = (page: URL) => {
    pages.push(page);
    void fetch(page);
  };
  const consent = hasPerson ? await openLoopbackConsent({ port: 0, show, signal: never }) : undefined;
  const connection = new ServerConnection({
    server,
    environment: {},
    watchdog: createWatchdog(),
    limits: { ...HUB_LIMITS, backOffMs: 1 },
    authorization: createAuthorization(server, { logins, consent }),
    onTools: () => {},
    onTrouble: () => {},
  });
  onTestFinished(() => connection.close());
  onTestFinished(() => consent?.close());
  return { connection, pages };
}

/** Signed in, and what came of it. */
async function signedIn(options: Parameters<typeof startOAuthServer>[0] = {}) {
  const fake = await start(options);
  const logins = newLogins();
  const server = serverAt(fake.url);
  const person = await connect(server, logins, { hasPerson: true });
  await person.connection.connect();
  await person.connection.close();
  return { fake, logins, server, ...person };
}

describe("signing in to a server", () => {
  it("registers, proves itself, names the resource, and keeps the tokens for their owner alone", async () => {
    const { fake, logins, server, pages } = await signedIn();
    expect(pages[0]?.searchParams.get("code_challenge_method")).toBe("S256");
    expect(pages[0]?.searchParams.get("resource")).toBe(fake.url);
    expect(pages[0]?.searchParams.get("scope")).toBe("read");
    expect(pages[0]?.searchParams.get("state")?.length).toBeGreaterThan(40);
    expect(statSync(logins.path).mode & 0o777).toBe(0o600);

    const { connection } = await connect(server, logins, { hasPerson: false });
    expect(textOf(await connection.call("echo", { a: 1 }, context))).toBe('{"a":1}');
    expect(fake.count("/register")).toBe(1);
  });

  it("without anybody to ask it says what to do, and asks the authorization server nothing", async () => {
    const fake = await start();
    const { connection } = await connect(serverAt(fake.url), newLogins(), { hasPerson: false });
    await expect(connection.connect()).rejects.toMatchObject({
      kind: "unauthenticated",
      code: "mcp_needs_login",
      message: 'The MCP server "safe" requires a sign-in: excursor mcp login safe',
    });
    expect(new Set(fake.pathsAsked())).toEqual(new Set(["/mcp"]));
  });

  it("the sign-in of a server is not used for another address of the same name", async () => {
    const { logins } = await signedIn();
    const other = await start();
    const { connection } = await connect(serverAt(other.url), logins, { hasPerson: false });
    await expect(connection.connect()).rejects.toMatchObject({ code: "mcp_needs_login" });
    expect(other.asked.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
  });

  it("headers of the settings go to the server, and not to where it sends us", async () => {
    const fake = await start();
    const server = serverAt(fake.url, { headers: { "x-key": "canary" } });
    const { connection } = await connect(server, newLogins(), { hasPerson: true });
    await connection.connect();
    const told = fake.asked.filter(({ headers }) => headers["x-key"] === "canary").map(({ path }) => path);
    expect(new Set(told)).toEqual(new Set(["/mcp"]));
  });
});

describe("a sign-in that has grown old", () => {
  it("is renewed by itself, once for all calls and all processes", async () => {
    const { fake, logins, server } = await signedIn();
    // Two processes: each has a store of its own on the same file.
    const again = createServerLogins({ home: join(logins.path, ".."), keychain: undefined, onNotice: () => {} });
    const both = await Promise.all([logins, again].map((store) => connect(server, store, { hasPerson: false })));
    await Promise.all(both.map(({ connection }) => connection.connect()));
    const before = fake.count("/token");
    fake.expire();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => both[n % 2]?.connection.call("echo", { n }, context)),
    );
    expect(results.map((result) => textOf(result ?? {}))).toEqual(Array.from({ length: 20 }, (_, n) => `{"n":${n}}`));
    expect([fake.count("/token") - before, fake.calls()]).toEqual([1, 20]);
  });

  it("one that was revoked is forgotten, and a person is needed", async () => {
    const { fake, logins, server } = await signedIn();
    fake.revoke();
    const { connection } = await connect(server, logins, { hasPerson: false });
    await expect(connection.connect()).rejects.toMatchObject({ code: "mcp_needs_login" });
    expect(readFileSync(logins.path, "utf8")).not.toMatch(/access-|refresh-/);
    const tokens = fake.count("/token");
    await expect(connection.retry()).resolves.toBeUndefined();
    expect(fake.count("/token")).toBe(tokens);
    expect(fake.count("/register")).toBe(1);
  });

  it("is kept while its authorization server is in trouble (REL-36)", async () => {
    const { fake, logins, server } = await signedIn();
    fake.expire();
    fake.breakTokens(503);
    const { connection } = await connect(server, logins, { hasPerson: false });
    await expect(connection.connect()).rejects.toMatchObject({ code: "mcp_login_failed", kind: "upstream-failed" });
    fake.breakTokens(200);
    await connection.retry();
    expect(textOf(await connection.call("echo", {}, context))).toBe("{}");
  });
});

describe("a tool that needs more than was granted", () => {
  it("asks the person once, for what there was and what is new, and is called then", async () => {
    const fake = await start({ callScope: "write" });
    const { connection, pages } = await connect(serverAt(fake.url), newLogins(), { hasPerson: true });
    expect(textOf(await connection.call("echo", { a: 1 }, context))).toBe('{"a":1}');
    expect(pages.map((page) => page.searchParams.get("scope"))).toEqual(["read", "write read"]);
    expect(fake.calls()).toBe(1);
  });

  it("without anybody it is an error that names the scope, and the next sign-in asks for it", async () => {
    const { fake, logins, server } = await signedIn({ callScope: "write" });
    const { connection } = await connect(server, logins, { hasPerson: false });
    await expect(connection.call("echo", {}, context)).rejects.toMatchObject({
      code: "mcp_needs_scope",
      message: 'The MCP server "safe" requires a scope that was not granted (write): excursor mcp login safe',
    });
    // The link lives on: other tools may work.
    expect(connection.state).toBe("ready");
    const kept = JSON.parse((await logins.read("safe", fake.url))?.reveal() ?? "{}");
    expect(kept.wantedScope.split(" ").sort()).toEqual(["read", "write"]);
  });
});

describe("what a server may name (SEC-43)", () => {
  it.each([
    ["https://mcp.example", "https://127.0.0.1/x"],
    ["https://mcp.example", "https://localhost/x"],
    ["https://mcp.example", "https://10.1.2.3/x"],
    ["https://mcp.example", "https://[::1]/x"],
    ["https://mcp.example", "https://[::ffff:127.0.0.1]/x"],
    ["https://mcp.example", "https://169.254.169.254/latest/meta-data"],
    ["https://mcp.example", "http://auth.example/x"],
    ["https://mcp.example", "file:///etc/passwd"],
    ["https://mcp.example", "https://user:pass@auth.example/x"],
    ["http://10.0.0.1", "https://127.0.0.1/x"],
    ["http://10.0.0.1", "https://[::ffff:127.0.0.1]/x"],
    ["http://10.0.0.1", "https://[::ffff:169.254.169.254]/x"],
    ["http://10.0.0.1", "https://0.0.0.0/x"],
    ["http://10.0.0.1", "https://[::]/x"],
    ["http://127.0.0.1:1", "https://169.254.169.254/x"],
    ["http://127.0.0.1:1", "http://10.0.0.1/x"],
  ])("%s cannot send us to %s", async (server, target) => {
    await expect(createGuardedFetch("safe", new URL(server))(target)).rejects.toMatchObject({
      code: "mcp_oauth_address_refused",
    });
  });

  it.each([
    ["authorization_endpoint", "file:///etc/passwd"],
    ["authorization_endpoint", "javascript:alert(1)"],
    ["authorization_endpoint", "http://auth.example/$(reboot)"],
    ["authorization_endpoint", "--flag"],
    ["token_endpoint", "http://auth.example/token"],
    ["issuer", "https://somebody.else"],
  ])("a sign-in with another %s is refused: %s", async (field, value) => {
    const fake = await start({ metadata: { [field]: value } });
    const logins = newLogins();
    const { connection, pages } = await connect(serverAt(fake.url), logins, { hasPerson: true });
    await expect(connection.connect()).rejects.toThrow('"safe"');
    if (field !== "token_endpoint") expect(pages).toEqual([]);
    expect(await logins.read("safe", fake.url)).toBeUndefined();
  });

  it("a resource that is not the server is refused before anything is shown", async () => {
    const fake = await start({ resource: "https://somebody.else/mcp" });
    const { connection, pages } = await connect(serverAt(fake.url), newLogins(), { hasPerson: true });
    await expect(connection.connect()).rejects.toThrow("does not match");
    expect(pages).toEqual([]);
  });

  it("an answer without an end is cut off", async () => {
    const fake = await start({ metadata: { service_documentation: "x".repeat(2_000_000) } });
    const { connection } = await connect(serverAt(fake.url), newLogins(), { hasPerson: true });
    await expect(connection.connect()).rejects.toMatchObject({ code: "mcp_oauth_address_refused" });
  });
});

describe("a client that was registered by hand", () => {
  it("shows its secret to the issuer that the settings name, and to no other", async () => {
    const fake = await start();
    const oauth = { clientId: "me", clientSecret: "hush-hush", issuer: "https://right.example" };
    for (const entry of [{ oauth }, { oauth: { ...oauth, grant: "client_credentials" } }]) {
      const { connection, pages } = await connect(serverAt(fake.url, entry), newLogins(), { hasPerson: true });
      await expect(connection.connect()).rejects.toMatchObject({ code: "mcp_login_failed" });
      expect(pages).toEqual([]);
    }
    expect([fake.count("/register"), fake.count("/token")]).toEqual([0, 0]);
    expect(JSON.stringify(fake.asked)).not.toMatch(/hush-hush|bWU6aHVzaC/);
  });

  it("says who it is when it signs out, and to that issuer alone", async () => {
    const { fake, logins, server } = await signedIn();
    const kept = (await logins.read(server.name, server.url.href)) as Secret;
    const oauth = { clientId: "me", clientSecret: "hush-hush", issuer: "https://right.example" };
    expect(await revokeLogin(serverAt(fake.url, { oauth }), kept)).toBe(false);
    expect(fake.count("/revoke")).toBe(0);
    const { issuer: _, ...anywhere } = oauth;
    expect(await revokeLogin(serverAt(fake.url, { oauth: anywhere }), kept)).toBe(true);
    const [revoked] = fake.asked.filter(({ path }) => path === "/revoke");
    expect(revoked?.headers.authorization).toBe(`Basic ${btoa("me:hush-hush")}`);
    expect(fake.renewable()).toBe(0);
  });
});

describe("where the browser comes back to", () => {
  const open = async () => {
    const consent = await openLoopbackConsent({ port: 0, show: () => {}, signal: never });
    onTestFinished(() => consent.close());
    return consent;
  };

  it("takes the answer with its own state and no other", async () => {
    const consent = await open();
    const answer = consent.ask(new URL("https://auth.example"), "right");
    const visit = async (query: string) => (await fetch(`${consent.redirectUrl}?${query}`)).status;
    expect(await visit("code=evil&state=wrong")).toBe(404);
    expect(await visit("code=evil")).toBe(404);
    expect(await visit("code=evil&state=wrong&state=right")).toBe(404);
    expect((await fetch(`${consent.redirectUrl}?code=evil&state=right`, { method: "POST" })).status).toBe(404);
    expect(await visit("code=good&state=right&iss=https%3A%2F%2Fa")).toBe(200);
    expect(await answer).toEqual({ code: "good", iss: "https://a" });
    expect(consent.redirectUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  });

  it("takes the same from a browser elsewhere, brought by hand", async () => {
    const consent = await open();
    const answer = consent.ask(new URL("https://auth.example"), "right");
    for (const wrong of [
      "",
      "hello",
      "http://127.0.0.1/callback?code=evil&state=wrong",
      "http://127.0.0.1/x?state=right",
    ]) {
      expect(consent.offer(wrong)).toBe(false);
    }
    expect(consent.offer(`${consent.redirectUrl}?code=good&state=right`)).toBe(true);
    expect(await answer).toEqual({ code: "good" });
  });

  it("says in one word why there is no code, and nothing that the page has written", async () => {
    const consent = await open();
    const refused = expect(consent.ask(new URL("https://auth.example"), "s")).rejects.toThrow(
      "The sign-in was refused: access_denied.",
    );
    await fetch(
      `${consent.redirectUrl}?state=s&error=access_denied&error_description=${encodeURIComponent("\u001b[2J")}`,
    );
    await refused;
  });
});

describe("the settings", () => {
  it("a header that lets us in, plain http and `false` want no sign-in", () => {
    expect(serverAt("https://a.example/mcp").oauth).toMatchObject({ grant: "authorization_code" });
    expect(serverAt("https://a.example/mcp", { headers: { Authorization: "Bearer x" } }).oauth).toBeUndefined();
    expect(serverAt("http://a.example/mcp").oauth).toBeUndefined();
    expect(serverAt("https://a.example/mcp", { oauth: false }).oauth).toBeUndefined();
  });

  it("Cursor's form of them is read, and secrets are no text", () => {
    const auth = { CLIENT_ID: "id", CLIENT_SECRET: "hush-hush", scopes: ["a", "b"] };
    const { oauth } = serverAt("https://a.example/mcp", { auth });
    expect(oauth).toMatchObject({ clientId: "id", scope: "a b" });
    expect(oauth?.clientSecret).toEqual(new Secret("hush-hush"));
    expect(JSON.stringify(oauth)).not.toContain("hush-hush");
  });

  it.each([
    [{ grant: "client_credentials" }, "mcp.json: mcpServers.safe.oauth.clientId: required with"],
    [{ grant: "client_credentials", clientId: "a" }, "mcp.json: mcpServers.safe.oauth: expected either"],
    [{ clientSecret: "b" }, "mcp.json: mcpServers.safe.oauth.clientId: required with"],
    [{ clientMetadataUrl: "http://a.example/c" }, "mcp.json: mcpServers.safe.oauth"],
    [{ clientID: "a" }, "mcp.json: mcpServers.safe.oauth"],
  ])("what is wrong with them is told with its field: %j", (oauth, text) => {
    const variables = { environment: {}, userHome: "/", workspaceFolder: "/" };
    const { servers, problems } = readServers({ safe: { url: "https://a.example", oauth } }, "mcp.json", variables);
    expect([servers, problems[0]?.text]).toEqual([[], expect.stringContaining(text)]);
  });
});
