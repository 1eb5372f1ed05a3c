import { describe, expect, test } from "vitest";
import { bearer, claimsOf, jwt, postJson, secondsFromNow, startEndpoints } from "./support.ts";

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly authId: string;
}

const exchange = (url: string, token: string) => postJson(`${url}/auth/exchange_user_api_key`, {}, bearer(token));
const exchanged = async (url: string, token: string) => (await (await exchange(url, token)).json()) as Tokens;
const me = (url: string, token: string) => fetch(`${url}/v1/me`, { headers: bearer(token) });

const CLIENT_ID = "KbZUR41cY7W6zRSdpSUJ7I7mLYBKOCmB";
const refresh = async (url: string, refreshToken: string) => {
  const request = { grant_type: "refresh_token", client_id: CLIENT_ID, refresh_token: refreshToken };
  const response = await postJson(`${url}/oauth/token`, request);
  expect(response.status).toBe(200);
  return (await response.json()) as { access_token: string; id_token: string; shouldLogout: boolean };
};

describe("exchange_user_api_key", () => {
  test("gives a key's account a token that lives as long as it is told", async () => {
    await using sim = await startEndpoints({ tokenTtlS: 42 });
    const { accessToken } = await exchanged(sim.url, "key_1");
    const { sub, iat, exp } = claimsOf(accessToken) as { sub: string; iat: number; exp: number };
    expect([sub, exp - iat]).toEqual(["auth0|user_key_1", 42]);
    expect((await me(sim.url, accessToken)).status).toBe(200);
  });

  test("keeps the subject of a JWT, over any number of refreshes", async () => {
    await using sim = await startEndpoints();
    const first = await exchanged(sim.url, jwt({ sub: "auth0|user_a", exp: secondsFromNow(60) }));
    const second = await exchanged(sim.url, first.refreshToken);
    expect([first.authId, second.authId, claimsOf(second.accessToken)["sub"]]).toEqual(Array(3).fill("auth0|user_a"));
  });

  test("REL-36: the same key may be exchanged by many at once", async () => {
    await using sim = await startEndpoints();
    const all = await Promise.all(Array.from({ length: 20 }, () => exchanged(sim.url, "key_1")));
    expect(new Set(all.map(({ authId }) => authId))).toEqual(new Set(["auth0|user_key_1"]));
  });

  test.each([
    ["refused", "invalid_key"],
    ["an expired JWT", jwt({ sub: "a", exp: secondsFromNow(-1) })],
  ])("401 for %s", async (_, token) => {
    await using sim = await startEndpoints();
    const response = await exchange(sim.url, token);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: "unauthenticated" });
  });
});

describe("tokens past their time (REL-22)", () => {
  test("are refused, while their refresh token goes on", async () => {
    await using sim = await startEndpoints({ tokenTtlS: 0 });
    const { accessToken, refreshToken } = await exchanged(sim.url, "key_1");
    expect((await me(sim.url, accessToken)).status).toBe(401);
    expect((await exchange(sim.url, refreshToken)).status).toBe(200);
    expect(await refresh(sim.url, refreshToken)).toMatchObject({ shouldLogout: false });
  });
});

describe("oauth/token", () => {
  test("refreshes for the same subject", async () => {
    await using sim = await startEndpoints();
    const { refreshToken } = await exchanged(sim.url, "key_1");
    const { access_token, id_token, shouldLogout } = await refresh(sim.url, refreshToken);
    expect([claimsOf(access_token)["sub"], shouldLogout]).toEqual(["auth0|user_key_1", false]);
    expect(id_token).not.toBe("");
    expect((await me(sim.url, access_token)).status).toBe(200);
  });

  test.each([
    ["refused", "invalid_refresh"],
    ["empty", ""],
    ["expired", jwt({ sub: "a", exp: secondsFromNow(-1) })],
  ])("REL-38: a refresh token that is %s logs out", async (_, token) => {
    await using sim = await startEndpoints();
    expect(await refresh(sim.url, token)).toMatchObject({ access_token: "", shouldLogout: true });
  });

  test("knows no other grant", async () => {
    await using sim = await startEndpoints();
    const response = await postJson(`${sim.url}/oauth/token`, { grant_type: "password" });
    expect([response.status, await response.json()]).toEqual([400, { error: "unsupported_grant_type" }]);
  });
});

test("there is no auth/refresh", async () => {
  await using sim = await startEndpoints();
  expect((await postJson(`${sim.url}/auth/refresh`, {})).status).toBe(404);
});
