import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chatBody, KEY, postChat, startTestGateway } from "../support/gateway.ts";
import { rawRequest } from "../support/raw.ts";

const AUTH = `authorization: Bearer ${KEY}`;
const JWT = `eyJ${"a".repeat(30)}.${"b".repeat(40)}.${"c".repeat(43)}`;
const ROUTES = [
  ["POST", "/v1/chat/completions"],
  ["GET", "/v1/models"],
  ["GET", "/v1/models/some-model"],
] as const;

it.skipIf(process.platform !== "linux")("only loopback listens", async () => {
  const { port } = await startTestGateway();
  const rows = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => readFileSync(file, "utf8").split("\n"));
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const local = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, at, , state]) => at?.endsWith(`:${hex}`) && state === "0A");
  expect(local.map(([, at]) => at)).toEqual([`0100007F:${hex}`]);
});

describe("Host", () => {
  const port = "PORT";
  it.each([
    // What a local client writes.
    [`127.0.0.1:${port}`, 200],
    ["127.0.0.1", 200],
    [`localhost:${port}`, 200],
    ["localhost", 200],
    [`LOCALHOST:${port}`, 200],
    [`LocalHost`, 200],
    [`[::1]:${port}`, 200],
    ["[::1]", 200],
    // What was configured.
    ["gateway.lan", 200],
    [`Gateway.LAN:${port}`, 200],
    ["proxy.lan:9000", 200],
    ["proxy.lan", 421],
    // Another port may be mapped to ours.
    ["gateway.lan:9000", 200],
    ["gateway.lan:3000", 200],
    ["proxy.lan:3000", 421],
    // Somebody else's name for our address.
    ["evil.com", 421],
    [`evil.com:${port}`, 421],
    ["127.0.0.1.evil.com", 421],
    ["127.evil.com", 421],
    ["localhost.evil.com", 421],
    ["evil-localhost", 421],
    ["localhost.", 421],
    [`localhost.:${port}`, 421],
    ["127.0.0.1.", 421],
    ["gateway.lan.evil.com", 421],
    // Other spellings of the same address are other names.
    ["127.1", 421],
    ["0x7f.1", 421],
    ["2130706433", 421],
    ["0.0.0.0", 421],
    [`0.0.0.0:${port}`, 421],
    ["[::]", 421],
    ["[::ffff:127.0.0.1]", 421],
    ["[0:0:0:0:0:0:0:1]", 421],
    ["127.0.0.2", 421],
    // The wrong port.
    ["127.0.0.1:1", 421],
    ["localhost:80", 421],
    ["[::1]:443", 421],
    // Not a host at all.
    ["", 400],
    ["x/#@y", 400],
    [`127.0.0.1:${port}@evil.com`, 400],
    ["user@localhost", 400],
    ["localhost:port", 400],
    ["localhost:", 400],
    ["127.0.0.1, evil.com", 400],
    ["http://127.0.0.1", 400],
    ["[::1", 400],
    ["::1", 400],
    ["localhost\\", 400],
    ["ｌocalhost", 400],
  ])("%j is answered with %d", async (host, status) => {
    const gateway = await startTestGateway({ hosts: ["gateway.lan", "proxy.lan:9000"] });
    const name = host.replaceAll(port, String(gateway.port));
    const answer = await rawRequest(gateway.port, ["GET /v1/models HTTP/1.1", `Host: ${name}`, AUTH]);
    expect(answer.status).toBe(status);
    if (status !== 200) expect(JSON.parse(answer.body)).toHaveProperty("error.message");
  });

  it.each([
    ["none at all", ["GET /v1/models HTTP/1.1", AUTH]],
    ["none in HTTP/1.0", ["GET /v1/models HTTP/1.0", AUTH]],
    ["two", ["GET /v1/models HTTP/1.1", "Host: 127.0.0.1", "Host: evil.com", AUTH]],
    ["two that agree", ["GET /v1/models HTTP/1.1", "Host: 127.0.0.1", "Host: 127.0.0.1", AUTH]],
    ["another in the target", ["GET http://evil.com/v1/models HTTP/1.1", "Host: 127.0.0.1", AUTH]],
    ["our own in the target", ["GET http://127.0.0.1/v1/models HTTP/1.1", "Host: 127.0.0.1", AUTH]],
    ["a star for a target", ["OPTIONS * HTTP/1.1", "Host: 127.0.0.1", AUTH]],
  ])("%s is answered with 400", async (_, head) => {
    const { port: at } = await startTestGateway();
    expect((await rawRequest(at, head)).status).toBe(400);
  });

  it("behind a mapped port: localhost with any port, if `hosts` names it", async () => {
    const refusing = await startTestGateway();
    const head = ["GET /v1/models HTTP/1.1", "Host: localhost:3000", AUTH];
    const refused = await rawRequest(refusing.port, head);
    expect(refused.status).toBe(421);
    expect(refused.body).toContain("localhost:3000");
    expect(refused.body).toContain("any port");
    const { port: at } = await startTestGateway({ hosts: ["localhost"] });
    expect((await rawRequest(at, head)).status).toBe(200);
    expect((await rawRequest(at, ["GET /v1/models HTTP/1.1", "Host: 127.0.0.1:3000", AUTH])).status).toBe(421);
  });

  it("names in X-Forwarded-Host count for nothing", async () => {
    const { port: at } = await startTestGateway();
    const head = ["GET /v1/models HTTP/1.1", "Host: evil.com", "X-Forwarded-Host: 127.0.0.1", AUTH];
    expect((await rawRequest(at, head)).status).toBe(421);
  });

  it("a refused request's body is not read as anything", async () => {
    const { port: at, engine } = await startTestGateway();
    const head = ["POST /v1/chat/completions HTTP/1.1", "Host: evil.com", AUTH, "content-type: application/json"];
    const answer = await rawRequest(at, [...head, "content-length: 3"], "{{{");
    expect(answer.status).toBe(421);
    expect(engine.answers).toHaveLength(0);
  });
});

describe("the key", () => {
  it.each(ROUTES)("%s %s needs it", async (method, path) => {
    const { port } = await startTestGateway();
    const tell = (...headers: string[]) =>
      rawRequest(port, [`${method} ${path} HTTP/1.1`, "Host: localhost", "content-type: application/json", ...headers]);
    expect((await tell()).status).toBe(401);
    expect((await tell("authorization: Bearer wrong")).status).toBe(401);
    expect((await tell(`authorization: Basic ${KEY}`)).status).toBe(401);
    expect((await tell(`authorization: Bearer ${KEY}x`)).status).toBe(401);
    expect((await tell(`authorization: Bearer ${KEY.slice(0, -1)}`)).status).toBe(401);
    expect((await tell("x-api-key: wrong")).status).toBe(401);
    expect((await tell("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")).status).toBe(401);
    const { head, body } = await tell("authorization: Bearer sk-secret-that-is-wrong");
    expect(head).toContain("www-authenticate: bearer");
    expect(body).not.toContain("sk-secret");
    expect(JSON.parse(body)).toMatchObject({ error: { type: "authentication_error", code: "invalid_api_key" } });
  });

  it.each([
    AUTH,
    `Authorization: bearer   ${KEY}`,
    `x-api-key: ${KEY}`,
    `authorization: Bearer other\r\nx-api-key: ${KEY}`,
  ])("%j is let in", async (header) => {
    const { port } = await startTestGateway();
    expect((await rawRequest(port, ["GET /v1/models HTTP/1.1", "Host: localhost", header])).status).toBe(200);
  });

  it("in the query string counts for nothing", async () => {
    const { port } = await startTestGateway();
    const target = `/v1/models?key=${KEY}&api_key=${KEY}&authorization=Bearer%20${KEY}`;
    expect((await rawRequest(port, [`GET ${target} HTTP/1.1`, "Host: localhost"])).status).toBe(401);
  });

  it("is not needed to see that the process lives", async () => {
    const { url } = await startTestGateway();
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: "ready" });
    expect((await fetch(`${url}/healthz`, { method: "POST" })).status).toBe(401);
  });

  it.each([
    JWT,
    `user_01ABC::${JWT}`,
    `user_01ABC%3A%3A${JWT}`,
    `auth0|user_01::${JWT}`,
    `auth0%7Cuser_01%3a%3a${JWT}`,
  ])("may be a Cursor token: %j", async (token) => {
    const gateway = await startTestGateway();
    const request = postChat(gateway, {}, { headers: { authorization: `Bearer ${token}`, "x-request-id": "t" } });
    const answer = await gateway.engine.next();
    answer.finish();
    expect((await request).status).toBe(200);
    const { principal } = answer.turn;
    expect(principal.token?.reveal()).toBe(JWT);
    expect(principal.id).toMatch(/^token_[\w-]{43}$/);
    expect(principal.id).not.toContain(JWT.slice(5, 20));
    expect((await gateway.logged("t"))["principal"]).toBe(principal.id);
  });

  it("two tokens that begin alike are two principals, and the gateway's key is a third", async () => {
    const gateway = await startTestGateway();
    const ids: string[] = [];
    for (const key of [JWT, `${JWT}d`, KEY]) {
      const request = postChat(gateway, {}, { headers: { authorization: `Bearer ${key}` } });
      const answer = await gateway.engine.next();
      answer.finish();
      await (await request).text();
      ids.push(answer.turn.principal.id);
    }
    expect(new Set(ids).size).toBe(3);
    expect(ids[2]).toBe("owner");
  });

  it("may not be a token where that is switched off", async () => {
    const { port } = await startTestGateway({ allowsTokens: false });
    const head = ["GET /v1/models HTTP/1.1", "Host: localhost", `authorization: Bearer ${JWT}`];
    expect((await rawRequest(port, head)).status).toBe(401);
  });

  it.each(["eyJ.eyJ.x", "a::b", "::", `${JWT}.extra`, `x y::${JWT}`, "demo"])("%j is no token", async (key) => {
    const { port } = await startTestGateway();
    const head = ["GET /v1/models HTTP/1.1", "Host: localhost", `x-api-key: ${key}`];
    expect((await rawRequest(port, head)).status).toBe(401);
  });
});

describe("paths", () => {
  it.each([
    "/v1//models",
    "//v1/models",
    "/v1/./models",
    "/v1/../v1/models",
    "/v1%2fmodels",
    "/v1/%6dodels",
    "/V1/models",
    "/v1/models/",
    "/v1/models%00",
    "/v1\\models",
    "/healthz/",
    "/healthz%2f..%2fv1/models",
    "/healthz/../v1/models",
    "/healthz;/v1/models",
    "/HEALTHZ",
    "/v1",
    "/admin",
    "/v1/models/%E0%A4%A",
  ])("%s is nothing here, and needs a key to learn that", async (path) => {
    const { port } = await startTestGateway();
    const head = [`GET ${path} HTTP/1.1`, "Host: localhost"];
    expect((await rawRequest(port, head)).status).toBe(401);
    const answer = await rawRequest(port, [...head, AUTH]);
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it("the wrong method is told the right one", async () => {
    const { port } = await startTestGateway();
    const get = await rawRequest(port, ["GET /v1/chat/completions HTTP/1.1", "Host: localhost", AUTH]);
    expect([get.status, get.head]).toEqual([405, expect.stringContaining("allow: post")]);
    const remove = await rawRequest(port, ["DELETE /v1/models/x HTTP/1.1", "Host: localhost", AUTH]);
    expect([remove.status, remove.head]).toEqual([405, expect.stringContaining("allow: get, head")]);
    const head = await rawRequest(port, ["HEAD /v1/models HTTP/1.1", "Host: localhost", AUTH]);
    expect([head.status, head.body]).toEqual([200, ""]);
  });

  it("a model is found by its id or another of its names, slashes and all", async () => {
    const { url } = await startTestGateway();
    const headers = { authorization: `Bearer ${KEY}` };
    for (const id of ["some-model", "vendor%2Fsome%20model", "vendor/some%20model"]) {
      expect(await (await fetch(`${url}/v1/models/${id}`, { headers })).json()).toMatchObject({ id: "some-model" });
    }
    const missing = await fetch(`${url}/v1/models/other`, { headers });
    expect([missing.status, await missing.json()]).toMatchObject([404, { error: { code: "model_not_found" } }]);
  });
});

describe("origins", () => {
  it.each([
    ["http://evil.com", 403],
    ["https://evil.com", 403],
    ["null", 403],
    ["*", 403],
    ["", 403],
    ["http://localhost", 403],
    ["http://localhost:3000", 403],
    ["https://localhost:PORT", 403],
    ["http://localhost:PORT.evil.com", 403],
    ["http://localhost:PORT@evil.com", 403],
    ["http://127.0.0.1.evil.com:PORT", 403],
    ["vscode-file://vscode-app", 403],
    ["https://app.example.evil.com", 403],
    ["https://APP.example", 403],
    ["file://", 403],
    ["http://localhost:PORT", 200],
    ["http://127.0.0.1:PORT", 200],
  ])("%j is answered with %d, and with no CORS header", async (origin, status) => {
    const { port } = await startTestGateway({ origins: ["https://app.example"] });
    const line = `Origin: ${origin.replace("PORT", String(port))}`;
    for (const [method, expected] of [
      ["GET", status],
      ["OPTIONS", status === 200 ? 405 : 403],
    ] as const) {
      const head = [`${method} /v1/models HTTP/1.1`, "Host: localhost", AUTH, line];
      const answer = await rawRequest(port, [...head, "Access-Control-Request-Method: POST"]);
      expect([method, answer.status]).toEqual([method, expected]);
      expect(answer.head).not.toContain("access-control");
    }
  });

  const APP = "https://app.example";

  it("a page of a configured one may ask first, needs the key, and can read the answer (SEC-06)", async () => {
    const gateway = await startTestGateway({ origins: [APP] });
    const chat = `${gateway.url}/v1/chat/completions`;
    const preflight = await fetch(chat, {
      method: "OPTIONS",
      headers: {
        origin: APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
        "access-control-request-private-network": "true",
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": APP,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
      "access-control-allow-private-network": "true",
      vary: "Origin",
    });
    expect(preflight.headers.has("access-control-allow-credentials")).toBe(false);
    const page = { origin: APP, "sec-fetch-site": "cross-site" };
    const keyless = await postChat(gateway, {}, { headers: { ...page, authorization: "" } });
    expect([keyless.status, keyless.headers.get("access-control-allow-origin")]).toEqual([401, APP]);
    for (const stream of [true, false]) {
      const answer = postChat(gateway, { stream }, { headers: page });
      (await gateway.engine.next()).finish();
      const { status, headers } = await answer;
      expect([status, headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual([200, APP, "Origin"]);
      expect(headers.get("access-control-expose-headers")).toContain("x-excursor-ignored");
      expect(headers.get("access-control-expose-headers")).toContain("retry-after");
    }
  });

  it.each([
    ["two origins", [`Origin: ${APP}`, `Origin: ${APP}`], 403],
    ["the name of another gateway", [`Origin: ${APP}`, "Host: evil.com"], 421],
    ["no question", [`Origin: ${APP}`], 401],
  ])("a preflight with %s is refused", async (_, lines, status) => {
    const { port } = await startTestGateway({ origins: [APP] });
    const asks = status === 401 ? [] : ["Access-Control-Request-Method: POST"];
    const host = lines.some((line) => line.startsWith("Host")) ? [] : ["Host: localhost"];
    const answer = await rawRequest(port, ["OPTIONS /v1/models HTTP/1.1", ...host, ...lines, ...asks]);
    expect(answer.status).toBe(status);
  });

  it("header names that are none are not given back", async () => {
    const { port } = await startTestGateway({ origins: [APP] });
    const head = ["OPTIONS /v1/models HTTP/1.1", "Host: localhost", `Origin: ${APP}`];
    const asks = ["Access-Control-Request-Method: GET", "Access-Control-Request-Headers: a b; <x>"];
    const answer = await rawRequest(port, [...head, ...asks]);
    expect([answer.status, answer.head.includes("allow-headers")]).toEqual([204, false]);
  });

  it("says that the answer depends on the origin, also to those without one", async () => {
    const { url } = await startTestGateway({ origins: [APP] });
    expect((await fetch(`${url}/healthz`)).headers.get("vary")).toBe("Origin");
    const { url: other } = await startTestGateway();
    expect((await fetch(`${other}/healthz`)).headers.get("vary")).toBeNull();
  });

  it.each([
    ["cross-site", 403],
    ["same-site", 403],
    ["same-origin", 200],
    ["none", 200],
  ])("a browser that says %s is answered with %d", async (site, status) => {
    const { port } = await startTestGateway();
    const head = ["GET /v1/models HTTP/1.1", "Host: localhost", AUTH, `Sec-Fetch-Site: ${site}`];
    expect((await rawRequest(port, head)).status).toBe(status);
  });

  it.each([
    "text/plain",
    "text/plain; application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json, text/plain",
    "application/jsonp",
    "text/json",
    "",
  ])("a body of type %j is answered with 415 and has no effect", async (type) => {
    const { port, engine } = await startTestGateway();
    const body = chatBody();
    const head = ["POST /v1/chat/completions HTTP/1.1", "Host: localhost", AUTH, `content-length: ${body.length}`];
    const answer = await rawRequest(port, type === "" ? head : [...head, `content-type: ${type}`], body);
    expect(answer.status).toBe(415);
    expect(engine.answers).toHaveLength(0);
  });

  it.each(["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])(
    "a body of type %j is read",
    async (type) => {
      const gateway = await startTestGateway();
      const request = postChat(gateway, {}, { headers: { "content-type": type } });
      (await gateway.engine.next()).finish();
      expect((await request).status).toBe(200);
    },
  );

  it("a compressed body is answered with 415", async () => {
    const gateway = await startTestGateway();
    expect((await postChat(gateway, {}, { headers: { "content-encoding": "gzip" } })).status).toBe(415);
  });
});
