import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readClaims } from "../../src/core/access/token-claims.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import { createEnvironmentSource } from "../../src/credentials/sources/environment.ts";
import { issueTokens } from "../../src/sim/accounts.ts";
import { setUpAccounts } from "./support/accounts-stage.ts";

const failure = (promise: Promise<unknown>) => promise.then(() => undefined, ExcursorError.from);

describe("the token of an account", () => {
  it("is given as it is while it has time", async () => {
    const { open, signIn, refreshes } = await setUpAccounts();
    const { access } = await signIn("default");
    const tokens = open();
    expect((await tokens.get(undefined)).token.reveal()).toBe(access);
    expect((await tokens.get("default")).token.reveal()).toBe(access);
    expect(refreshes()).toBe(0);
  });

  it("is renewed a minute before its time is over, once for all who ask (REL-36)", async () => {
    const { open, signIn, refreshes, store } = await setUpAccounts();
    const { access, refresh } = await signIn("default", { ttlS: 59 * 60 });
    const at = (ms: number) => ({ now: () => (readClaims(access).expiresAtMs ?? 0) + ms });
    expect((await open(at(-61_000)).get(undefined)).token.reveal()).toBe(access);
    const late = open(at(-59_000));
    const given = await Promise.all(Array.from({ length: 500 }, () => late.get(undefined)));
    expect(new Set(given.map(({ token }) => token.reveal())).size).toBe(1);
    expect(given[0]?.token.reveal()).not.toBe(access);
    expect(refreshes()).toBe(1);
    const kept = await store.read("default");
    expect(kept?.login.access?.reveal()).toBe(given[0]?.token.reveal());
    expect(kept?.login.refresh?.reveal()).not.toBe(refresh);
  });

  it("tells of each secret whose it is (SEC-50)", async () => {
    const { open, signIn } = await setUpAccounts();
    const own = await signIn("default");
    const work = await signIn("work");
    const told: string[] = [];
    const tokens = open({ onSecret: (secret, account) => told.push(`${account}: ${secret.reveal()}`) });
    await tokens.get(undefined);
    await tokens.get("work");
    expect(told).toEqual([`: ${own.access}`, `: ${own.refresh}`, `work: ${work.access}`, `work: ${work.refresh}`]);
  });

  it("has the same account id through every renewal, and another for another person", async () => {
    const { open, signIn } = await setUpAccounts();
    await signIn("default");
    const tokens = open();
    const first = await tokens.get(undefined);
    const renewed = await tokens.renew(undefined, first.token);
    expect(renewed?.account).toBe(first.account);
    await signIn("other");
    expect((await tokens.get("other")).account).not.toBe(first.account);
  });

  it("is renewed once after a refusal, and not again if the new one is refused at once", async () => {
    const { open, signIn, refreshes } = await setUpAccounts();
    await signIn("default");
    const tokens = open();
    const { token } = await tokens.get(undefined);
    const renewed = await Promise.all(Array.from({ length: 50 }, () => tokens.renew(undefined, token)));
    expect(new Set(renewed.map((given) => given?.token.reveal())).size).toBe(1);
    expect(await tokens.renew(undefined, renewed[0]?.token ?? token)).toBeUndefined();
    expect(refreshes()).toBe(1);
  });

  it("that another process has renewed meanwhile is taken from the store", async () => {
    const { open, signIn, refreshes } = await setUpAccounts();
    await signIn("default");
    const [one, other] = [open(), open()];
    const { token } = await one.get(undefined);
    await other.get(undefined);
    const renewed = await one.renew(undefined, token);
    expect((await other.renew(undefined, token))?.token.reveal()).toBe(renewed?.token.reveal());
    expect((await other.get(undefined)).token.reveal()).toBe(renewed?.token.reveal());
    expect(refreshes()).toBe(1);
  });

  it("is another as soon as somebody signs in, without a restart", async () => {
    const { open, signIn } = await setUpAccounts();
    const tokens = open();
    expect(await failure(tokens.get(undefined))).toMatchObject({ code: "not_signed_in", kind: "unauthenticated" });
    const { access } = await signIn("default");
    expect((await tokens.get(undefined)).token.reveal()).toBe(access);
  });

  it("whose login is revoked says so, tells how to sign in, and does not ask again (REL-38)", async () => {
    const { open, signIn, refreshes, store } = await setUpAccounts();
    await signIn("work", { ttlS: -10, refresh: "invalid-revoked" });
    const tokens = open();
    for (let n = 0; n < 3; n++) {
      expect(await failure(tokens.get(undefined))).toMatchObject({
        kind: "unauthenticated",
        code: "login_over",
        message: 'The login of the account "work" is no longer valid.',
        hint: "Sign in again: excursor login --account work",
      });
    }
    expect(refreshes()).toBe(1);
    expect((await store.read("work"))?.login.refresh?.reveal()).toBe("invalid-revoked");
    const { access } = await signIn("work");
    expect((await tokens.get(undefined)).token.reveal()).toBe(access);
  });

  it("is renewed with the API key where the refresh token is over, and both are kept", async () => {
    const { open, signIn, store } = await setUpAccounts();
    await signIn("default", { ttlS: -10, refresh: "invalid-revoked", apiKey: "key-of-a-user" });
    const { token } = await open().get(undefined);
    expect(readClaims(token.reveal()).subject).toBe("auth0|user_key-of-a-user");
    expect((await store.read("default"))?.login.apiKey?.reveal()).toBe("key-of-a-user");
  });

  it("is used in its last minute where the backend cannot be reached, and not after it", async () => {
    const { open, signIn, closeBackend } = await setUpAccounts();
    const { access } = await signIn("default");
    await closeBackend();
    const at = (ms: number) => ({ now: () => (readClaims(access).expiresAtMs ?? 0) + ms });
    expect((await open(at(-30_000)).get(undefined)).token.reveal()).toBe(access);
    expect(await failure(open(at(1)).get(undefined))).toMatchObject({ kind: "upstream-unavailable" });
  });

  it.each([
    ["ahead", 3_600_000],
    ["behind", -3_600_000],
  ])("is good by its own length of life where our clock is an hour %s (REL-39)", async (_, offMs) => {
    const { open, signIn, refreshes } = await setUpAccounts();
    const { access } = await signIn("default");
    const tokens = open({ now: () => Date.now() + offMs });
    const { token } = await tokens.get(undefined);
    // Behind, it is found good; the backend says otherwise when its time has come, and that is believed.
    const later = offMs < 0 ? await tokens.renew(undefined, token) : await tokens.get(undefined);
    expect(later?.token.reveal()).not.toBe(access);
    for (let n = 0; n < 10; n++) expect((await tokens.get(undefined)).token.reveal()).toBe(later?.token.reveal());
    expect(refreshes()).toBe(1);
  });

  it("can be renewed again after the clock was set back (REL-39)", async () => {
    const { open, signIn, refreshes } = await setUpAccounts();
    await signIn("default", { ttlS: -10 });
    let [now, ticks] = [Date.now(), 0];
    const tokens = open({ now: () => now, ticks: () => ticks });
    const { token } = await tokens.get(undefined);
    now -= 2 * 3_600_000;
    ticks += 11_000;
    expect(await tokens.renew(undefined, token)).toBeDefined();
    expect(refreshes()).toBe(2);
  });

  it("works though the disk does not take it, is not lost, and is written when it can be (REL-51)", async () => {
    const { open, signIn, refreshes, store, notices } = await setUpAccounts({ refreshTokens: "rotating" });
    await signIn("default", { ttlS: -10 });
    const before = readFileSync(store.path, "utf8");
    mkdirSync(`${store.path}.previous/in-the-way`, { recursive: true });
    let now = Date.now();
    const tokens = open({ now: () => now });
    const { token } = await tokens.get(undefined);
    expect(readFileSync(store.path, "utf8")).toBe(before);
    expect(notices.join()).toContain("cannot be written");
    rmSync(`${store.path}.previous`, { recursive: true });
    now += 61_000;
    expect((await tokens.get(undefined)).token.reveal()).toBe(token.reveal());
    expect((await store.read("default"))?.login.access?.reveal()).toBe(token.reveal());
    expect(refreshes()).toBe(1);
    // The backend has the old refresh token revoked, so the new one must be what was kept.
    expect(await open().renew(undefined, token)).toBeDefined();
  });
});

describe("which account", () => {
  it("the one called default, else the only one, else it must be said", async () => {
    const { open, signIn, store } = await setUpAccounts();
    const work = await signIn("work");
    expect((await open().get(undefined)).token.reveal()).toBe(work.access);
    await signIn("home");
    expect(await failure(open().get(undefined))).toMatchObject({
      kind: "config",
      message: "There are several accounts: work, home.",
    });
    const main = await signIn("default");
    expect((await open().get(undefined)).token.reveal()).toBe(main.access);
    expect((await open().get("work")).token.reveal()).toBe(work.access);
    await store.lock.run(() => store.remove("work"));
    expect(await failure(open().get("work"))).toMatchObject({
      kind: "unauthenticated",
      message: 'The account "work" is not signed in; known accounts: home, default.',
      hint: "Sign in: excursor login --account work",
    });
  });

  it("never one of another backend (SEC-13)", async () => {
    const { open, signIn, refreshes, url } = await setUpAccounts();
    await signIn("elsewhere", { origin: "https://api2.cursor.sh", ttlS: -10 });
    expect(await failure(open().get(undefined))).toMatchObject({ code: "not_signed_in" });
    expect(await failure(open().get("elsewhere"))).toMatchObject({
      code: "wrong_backend",
      message: `The account "elsewhere" belongs to https://api2.cursor.sh, not to ${url}.`,
    });
    expect(refreshes()).toBe(0);
  });
});

describe("the environment", () => {
  const from = (environment: Record<string, string>, token?: string) =>
    createEnvironmentSource({ token: token === undefined ? undefined : new Secret(token), environment });

  it("gives a token as it is, and what has no way to be renewed is not", async () => {
    const { open, refreshes } = await setUpAccounts();
    const { accessToken } = issueTokens("auth0|user_x", -10);
    for (const [source, place] of [
      [from({}, `user_x::${accessToken}`), "EXCURSOR_TOKEN"],
      [from({ CURSOR_AUTH_TOKEN: accessToken }), "CURSOR_AUTH_TOKEN"],
    ] as const) {
      const tokens = open({ sources: [source] });
      const { token } = await tokens.get(undefined);
      expect(token.reveal()).toBe(accessToken);
      expect(await failure(tokens.renew(undefined, token))).toMatchObject({
        kind: "unauthenticated",
        code: "token_refused",
        hint: expect.stringMatching(new RegExp(`${place}.*remove it`)),
      });
    }
    expect(refreshes()).toBe(0);
  });

  it("exchanges an API key, and keeps what it got in memory only", async () => {
    const { open, refreshes, store } = await setUpAccounts();
    let now = Date.now();
    const tokens = open({ sources: [from({ CURSOR_API_KEY: "key-of-env" })], now: () => now });
    const { token } = await tokens.get(undefined);
    now += 60_000;
    expect(readClaims(token.reveal()).subject).toBe("auth0|user_key-of-env");
    expect((await tokens.renew(undefined, token))?.token.reveal()).not.toBe(token.reveal());
    expect(refreshes()).toBe(2);
    expect(store.list()).toEqual([]);
  });

  it("says that a key is not accepted", async () => {
    const { open } = await setUpAccounts();
    const tokens = open({ sources: [from({ CURSOR_API_KEY: "invalid-key" })] });
    expect(await failure(tokens.get(undefined))).toMatchObject({
      message: "The API key is no longer valid.",
      hint: expect.stringContaining("unset it"),
    });
  });
});

it("the login of another program is used to its last second, never renewed, and looked for anew then", async () => {
  const { open, refreshes } = await setUpAccounts();
  const [first, second] = [issueTokens("auth0|user_x", 3600), issueTokens("auth0|user_x", 7200)];
  let current = first;
  const source = {
    id: "cursor-ide" as const,
    place: "the IDE",
    find: async () => ({
      login: {
        access: new Secret(current.accessToken),
        refresh: new Secret(current.refreshToken),
        apiKey: undefined,
      },
      isForeign: true,
    }),
  };
  let now = (readClaims(first.accessToken).expiresAtMs ?? 0) - 1;
  const tokens = open({ sources: [source], now: () => now });
  const { token } = await tokens.get(undefined);
  expect(token.reveal()).toBe(first.accessToken);
  expect(await tokens.renew(undefined, token)).toBeUndefined();
  now += 1;
  expect(await failure(tokens.get(undefined))).toMatchObject({ message: "The login in the IDE has expired." });
  current = second;
  expect((await tokens.get(undefined)).token.reveal()).toBe(second.accessToken);
  expect(refreshes()).toBe(0);
});

it("a source that is no good is told of once, and the next one is tried", async () => {
  const { open, signIn, store, notices } = await setUpAccounts();
  await signIn("default");
  writeFileSync(store.path, "{");
  rmSync(`${store.path}.previous`, { force: true });
  const next = createEnvironmentSource({ token: new Secret("token-that-was-given"), environment: {} });
  const broken = {
    id: "store" as const,
    place: store.path,
    find: async () => void (await store.read("default")) as undefined,
  };
  const tokens = open({ sources: [broken, next] });
  for (let n = 0; n < 2; n++) expect((await tokens.get(undefined)).token.reveal()).toBe("token-that-was-given");
  expect(notices).toEqual([expect.stringContaining("accounts.json is damaged")]);
});
