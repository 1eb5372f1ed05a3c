import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { AgentService } from "../../../src/gen/agent/v1/service_pb.ts";
import { AiService } from "../../../src/gen/aiserver/v1/ai_pb.ts";
import { ServerConfigService } from "../../../src/gen/aiserver/v1/server_config_pb.ts";
import { endpointRoutes } from "../../../src/sim/endpoints/index.ts";
import { titleFor } from "../../../src/sim/endpoints/title.ts";
import { bearer, call, callJson, jwt, post, postJson, requestH2, secondsFromNow, startEndpoints } from "./support.ts";

const CONFIG = "/aiserver.v1.ServerConfigService/GetServerConfig";
const PROTO = { "content-type": "application/proto" };

const hex = (bytes: Uint8Array | ArrayBuffer) => Buffer.from(bytes as ArrayBuffer).toString("hex");

/** The key that paths are encrypted with, and the bytes of `indexing_config` with it. */
const pathKeyOf = (user: string) => createHash("sha256").update(`auth0|user_${user}`).digest("base64url");
const indexing = (user: string) => `1a2d4a2b${hex(Buffer.from(pathKeyOf(user)))}`;

describe("GetServerConfig", () => {
  test.each([
    ["h2", "3804", "HTTP2_CONFIG_FORCE_BIDI_ENABLED"],
    ["h1", "3803", "HTTP2_CONFIG_FORCE_BIDI_DISABLED"],
  ] as const)("golden bytes: %s", async (hostConfig, bytes, name) => {
    await using sim = await startEndpoints({ hostConfig });
    const response = await post(sim.url + CONFIG, null, { ...PROTO, ...bearer("tester") });
    expect(response.headers.get("content-type")).toBe("application/proto");
    expect(hex(await response.arrayBuffer())).toBe(indexing("tester") + bytes);
    const json = await callJson(sim, ServerConfigService.method.getServerConfig, { telem_enabled: false });
    expect(json).toEqual({
      indexingConfig: { defaultUserPathEncryptionKey: pathKeyOf("tester") },
      http2Config: name,
    });
  });

  test("is the same over HTTP/2", async () => {
    await using sim = await startEndpoints();
    const { status, body } = await requestH2(sim.url, CONFIG, { ...PROTO, ...bearer("t") }, new Uint8Array());
    expect([status, hex(body)]).toEqual([200, `${indexing("t")}3804`]);
  });
});

test("HealthCheck needs no account", async () => {
  await using sim = await startEndpoints();
  const url = `${sim.url}/aiserver.v1.AiService/HealthCheck`;
  expect((await post(url, null, PROTO)).status).toBe(200);
  expect(await (await postJson(url, {})).json()).toEqual({});
  expect(await call(sim, AiService.method.healthCheck, {})).toBeDefined();
});

describe("NameAgent", () => {
  test.each([
    ["Fix the flaky login test in CI please", "Fix the flaky login test"],
    ["<user_query>\n  hello   world\n</user_query>", "hello world"],
    ["", "New Agent"],
    [" \n ", "New Agent"],
    ["x".repeat(5000), "x".repeat(40)],
    ["😀".repeat(50), "😀".repeat(40)],
  ])("%j", (message, title) => {
    expect(titleFor(message)).toBe(title);
  });

  test("answers in both encodings", async () => {
    await using sim = await startEndpoints();
    const { method } = AgentService;
    expect((await call(sim, method.nameAgent, { userMessage: "hi there" })).name).toBe("hi there");
    expect(await callJson(sim, method.nameAgent, { userMessage: "hi there" })).toEqual({ name: "hi there" });
  });
});

const OPEN = new Set([
  "POST /aiserver.v1.AiService/HealthCheck",
  "POST /v1/traces",
  "GET /loginDeepControl",
  "POST /api/auth/loginDeepCallbackControl",
  "GET /auth/poll",
  "POST /auth/poll",
  // It takes its token in the body.
  "POST /oauth/token",
]);

const needsLogin = (route: string) => !OPEN.has(route) && !route.includes("AnalyticsService");

describe("a bad token", () => {
  const expired = jwt({ sub: "auth0|user_late", exp: secondsFromNow(-1) });

  test.each(Object.keys(endpointRoutes).filter(needsLogin))("SEC-03: 401 from %s", async (route) => {
    await using sim = await startEndpoints();
    const [method = "", path = ""] = route.split(" ");
    const url = sim.url + path.replace("*", "a1/usage");
    for (const headers of [{}, bearer(""), bearer("invalid-1"), bearer(expired)]) {
      const response = await fetch(url, { method, headers: { "content-type": "application/json", ...headers } });
      expect([response.status, await response.json()]).toEqual([401, expect.any(Object)]);
    }
  });

  test("is told as a Connect error with details", async () => {
    await using sim = await startEndpoints();
    const response = await postJson(sim.url + CONFIG, {}, bearer("invalid"));
    expect(await response.json()).toEqual({
      code: "unauthenticated",
      message: "Error",
      details: [
        {
          type: "aiserver.v1.ErrorDetails",
          value: "CCYSLwoVVW5hdXRob3JpemVkIHJlcXVlc3QuEhRVc2VyIGlzIHVuYXV0aG9yaXplZCAAGAE",
          debug: expect.objectContaining({ error: "ERROR_UNAUTHORIZED" }),
        },
      ],
    });
  });

  test("has one error object in REST", async () => {
    await using sim = await startEndpoints();
    const response = await fetch(`${sim.url}/v1/me`, { headers: bearer("invalid") });
    expect(await response.json()).toEqual({ error: { code: "unauthenticated", message: "User is unauthorized" } });
  });
});

describe("bad input", () => {
  test.each(["application/connect+proto", "application/connect+json", "text/plain"])("415 for %s", async (type) => {
    await using sim = await startEndpoints();
    const response = await post(sim.url + CONFIG, new Uint8Array(5), { "content-type": type, ...bearer("t") });
    expect(response.status).toBe(415);
  });

  test.each([
    ["application/json", "{"],
    ["application/json", '{"userMessage":5}'],
  ])("400 for a broken %s body: %s", async (type, body) => {
    await using sim = await startEndpoints();
    const url = `${sim.url}/agent.v1.AgentService/NameAgent`;
    const response = await post(url, body, { "content-type": type, ...bearer("t") });
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ code: "invalid_argument" }),
    ]);
  });
});
