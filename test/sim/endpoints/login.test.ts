import { describe, expect, test } from "vitest";
import { claimsOf, postJson, startEndpoints } from "./support.ts";

// The vector of RFC 7636, appendix B.
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const UUID = "3f0e9c3a-6a53-4b5e-9d7e-3f5a7c1d2e4b";

const pageUrl = (url: string, query: Record<string, string> = {}) =>
  `${url}/loginDeepControl?${new URLSearchParams({ challenge: CHALLENGE, uuid: UUID, mode: "login", ...query })}`;

type Poll = (url: string, uuid?: string, verifier?: string) => Promise<Response>;

const pollByGet: Poll = (url, uuid = UUID, verifier = VERIFIER) =>
  fetch(`${url}/auth/poll?${new URLSearchParams({ uuid, verifier })}`);
const pollByPost: Poll = (url, uuid = UUID, verifier = VERIFIER) => postJson(`${url}/auth/poll`, { uuid, verifier });

const approveByPage = (url: string) => fetch(pageUrl(url, { redirectTarget: "cli" }));
const approveByCallback = (url: string, uuid = UUID) =>
  postJson(`${url}/api/auth/loginDeepCallbackControl`, { uuid, challenge: CHALLENGE });

const outcome = async (response: Response) => [response.status, await response.text()] as const;
const PENDING = [404, "Not found"];

describe.each([
  ["GET", pollByGet],
  ["POST", pollByPost],
])("a login polled by %s", (_, poll) => {
  test.each([
    ["the page", approveByPage],
    ["the callback", approveByCallback],
  ])("and approved by %s, is handed out once", async (_, approve) => {
    await using sim = await startEndpoints({ tokenTtlS: 60 });
    expect(await outcome(await poll(sim.url))).toEqual(PENDING);
    expect((await approve(sim.url)).status).toBe(200);
    const answer = await poll(sim.url);
    expect(answer.status).toBe(200);
    const tokens = (await answer.json()) as { accessToken: string; refreshToken: string; authId: string };
    expect(claimsOf(tokens.accessToken)).toMatchObject({ sub: tokens.authId, type: "session" });
    expect(claimsOf(tokens.refreshToken)).toMatchObject({ sub: tokens.authId, type: "refresh" });
    expect(tokens.authId).toMatch(/^auth0\|user_/);
    expect(await outcome(await poll(sim.url))).toEqual(PENDING);
  });

  test("stays pending for another verifier, and is kept for the right one", async () => {
    await using sim = await startEndpoints();
    await approveByPage(sim.url);
    for (const verifier of ["", "wrong", CHALLENGE]) {
      expect(await outcome(await poll(sim.url, UUID, verifier))).toEqual(PENDING);
    }
    expect(await outcome(await poll(sim.url, "another"))).toEqual(PENDING);
    expect((await poll(sim.url)).status).toBe(200);
  });
});

test("logins are bounded: the oldest is dropped", async () => {
  await using sim = await startEndpoints();
  for (let n = 0; n <= 1000; n++) await approveByCallback(sim.url, `login-${n}`);
  // Once more for the newest takes no room.
  await approveByCallback(sim.url, "login-1000");
  expect((await pollByPost(sim.url, "login-0")).status).toBe(404);
  expect((await pollByPost(sim.url, "login-1")).status).toBe(200);
  expect((await pollByPost(sim.url, "login-1000")).status).toBe(200);
});

describe("the page", () => {
  test("says so, loads nothing, runs nothing (SEC-46)", async () => {
    await using sim = await startEndpoints();
    const response = await approveByPage(sim.url);
    const html = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(html).toContain("The simulated account is signed in");
    expect(html).toContain("<b>cli</b>");
    expect(html).not.toMatch(/<script|src=|href=|url\(/i);
  });

  test("escapes what it is told", async () => {
    await using sim = await startEndpoints();
    const response = await fetch(pageUrl(sim.url, { redirectTarget: `<img src=x onerror="a('&')">` }));
    const html = await response.text();
    expect(html).not.toContain("<img");
    expect(html).toContain("&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;");
  });

  test.each([
    ["no uuid", { uuid: "" }],
    ["a long uuid", { uuid: "u".repeat(101) }],
    ["no challenge", { challenge: "" }],
    ["a challenge that is no sha256", { challenge: `${CHALLENGE}A` }],
  ])("refuses %s", async (_, query) => {
    await using sim = await startEndpoints();
    expect((await fetch(pageUrl(sim.url, query))).status).toBe(400);
  });
});

test.each(["", "[]", "null", "{", '{"uuid":1,"challenge":2}'])("the callback refuses %j", async (body) => {
  await using sim = await startEndpoints();
  const url = `${sim.url}/api/auth/loginDeepCallbackControl`;
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "invalid_argument" });
});
