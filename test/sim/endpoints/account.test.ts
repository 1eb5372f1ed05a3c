import { describe, expect, test } from "vitest";
import { DashboardService, PrivacyMode } from "../../../src/gen/aiserver/v1/dashboard_pb.ts";
import { billingCycle } from "../../../src/sim/endpoints/usage/billing.ts";
import { bearer, call, callJson, jwt, post, postJson, secondsFromNow, startEndpoints } from "./support.ts";

const { method } = DashboardService;

describe("DashboardService", () => {
  test("GetMe: a key and the token it is exchanged for are the same person", async () => {
    await using sim = await startEndpoints();
    const exchanged = await postJson(`${sim.url}/auth/exchange_user_api_key`, {}, bearer("key_1"));
    const { accessToken } = (await exchanged.json()) as { accessToken: string };
    const byToken = await call(sim, method.getMe, {}, accessToken);
    expect(byToken).toEqual(await call(sim, method.getMe, {}, "key_1"));
    expect(byToken).toMatchObject({ authId: "auth0|user_key_1", email: "user_key_1@simulated.invalid" });
    expect(byToken.userId).toBeGreaterThan(0);
    expect((await call(sim, method.getMe, {}, "key_2")).userId).not.toBe(byToken.userId);
  });

  test("GetUserPrivacyMode: the account is in privacy mode", async () => {
    await using sim = await startEndpoints();
    const request = { inferredPrivacyMode: PrivacyMode.NO_STORAGE };
    expect((await call(sim, method.getUserPrivacyMode, request)).privacyMode).toBe(PrivacyMode.NO_STORAGE);
  });

  test("GetCurrentPeriodUsage: cycle in milliseconds as text, the plan in cents", async () => {
    await using sim = await startEndpoints();
    const { startMs, endMs } = billingCycle(Date.now());
    expect(await callJson(sim, method.getCurrentPeriodUsage, {})).toMatchObject({
      billingCycleStart: String(startMs),
      billingCycleEnd: String(endMs),
      planUsage: { totalSpend: 500, includedSpend: 500, remaining: 1500, limit: 2000, totalPercentUsed: 25 },
      spendLimitUsage: {},
    });
  });

  test("what else a client may ask of it is answered empty, but not to everyone", async () => {
    await using sim = await startEndpoints();
    const url = `${sim.url}/aiserver.v1.DashboardService/GetTeamReposOrEmptyIfNotInTeam`;
    const proto = { "content-type": "application/proto" };
    const empty = await post(url, null, { ...proto, ...bearer("tester") });
    expect([empty.status, empty.headers.get("content-type"), await empty.text()]).toEqual([
      200,
      "application/proto",
      "",
    ]);
    expect(await (await postJson(url, {}, bearer("tester"))).json()).toEqual({});
    expect((await post(url, null, { ...proto, ...bearer("invalid") })).status).toBe(401);
  });

  test("CreateUserApiKey: the key is the same account, and can be exchanged", async () => {
    await using sim = await startEndpoints({ tokenTtlS: -1 });
    const { apiKey } = await call(sim, method.createUserApiKey, { name: "laptop" }, "owner");
    expect(apiKey).toMatch(/^key_/);
    expect((await call(sim, method.getMe, {}, apiKey)).authId).toBe("auth0|user_owner");
    const exchanged = await postJson(`${sim.url}/auth/exchange_user_api_key`, {}, bearer(apiKey));
    expect(await exchanged.json()).toMatchObject({ authId: "auth0|user_owner" });
  });

  test("GetTeamAdminSettingsOrEmptyIfNotInTeam: in no team", async () => {
    await using sim = await startEndpoints();
    expect(await callJson(sim, method.getTeamAdminSettingsOrEmptyIfNotInTeam, {})).toEqual({});
  });
});

test("the billing cycle is the month, over the end of a year too", () => {
  expect(billingCycle(Date.UTC(2026, 11, 31, 23, 59))).toEqual({
    startMs: Date.UTC(2026, 11, 1),
    endMs: Date.UTC(2027, 0, 1),
  });
});

describe("REST", () => {
  const get = async (url: string, headers: Record<string, string>) => {
    const response = await fetch(url, { headers });
    return [response.status, await response.json()] as const;
  };

  test.each([
    [
      "/v1/me",
      { apiKeyName: expect.any(String), userEmail: "user_t@simulated.invalid", createdAt: expect.any(String) },
    ],
    ["/v1/repositories", { items: [] }],
    ["/v1/agents/agent-1/usage", { totalUsage: { totalTokens: 0 }, runs: [] }],
    ["/v1/agents/agent-1/usage?runId=u1", { totalUsage: { inputTokens: 0 }, runs: [] }],
    ["/auth/full_stripe_profile", { membershipType: "pro", subscriptionStatus: "active" }],
    ["/auth/stripe_profile", { membershipType: "pro" }],
    ["/auth/usage", { "gpt-4": { numRequests: 0 }, startOfMonth: expect.any(String) }],
    ["/api/usage/summary", { individualUsage: { plan: { used: 500, limit: 2000, totalPercentUsed: 25 } } }],
  ])("GET %s", async (path, expected) => {
    await using sim = await startEndpoints();
    const [status, body] = await get(sim.url + path, bearer("t"));
    expect(status).toBe(200);
    expect(body).toMatchObject(expected);
  });

  test("404 for cloud agents", async () => {
    await using sim = await startEndpoints();
    const [status, body] = await get(`${sim.url}/v1/agents/agent-1/runs`, bearer("t"));
    expect([status, body]).toEqual([404, { error: { code: "not_found", message: expect.any(String) } }]);
  });

  describe("the session cookie", () => {
    const session = jwt({ sub: "auth0|user_x", exp: secondsFromNow(60) });

    test.each([
      ["encoded", `a=b; WorkosCursorSessionToken=user_x%3A%3A${session}; c=d`],
      ["plain", `WorkosCursorSessionToken=user_x::${session}`],
    ])("%s, is an account", async (_, cookie) => {
      await using sim = await startEndpoints();
      for (const path of ["/api/usage-summary", "/api/usage/summary"]) {
        const [status, body] = await get(sim.url + path, { cookie });
        expect([status, body]).toEqual([200, expect.objectContaining({ membershipType: "pro" })]);
      }
    });

    test.each([
      ["none", ""],
      ["another one", "session=user_x::abc"],
      ["without separator", `WorkosCursorSessionToken=${session}`],
      ["not URL-encoded rightly", "WorkosCursorSessionToken=user_x%3A%3A%zz"],
      ["empty", "WorkosCursorSessionToken=user_x::"],
      ["refused", "WorkosCursorSessionToken=user_x::invalid"],
      ["expired", `WorkosCursorSessionToken=user_x::${jwt({ sub: "user_x", exp: secondsFromNow(-1) })}`],
    ])("%s: 401", async (_, cookie) => {
      await using sim = await startEndpoints();
      const [status, body] = await get(`${sim.url}/api/usage-summary`, { cookie, ...bearer("t") });
      expect([status, body]).toEqual([401, expect.objectContaining({ code: "unauthenticated" })]);
    });
  });
});
