import { afterEach, describe, expect, it, vi } from "vitest";
import { SharedLogins } from "../../../../src/cluster/redis/logins/shared-logins.ts";
import { Packing } from "../../../../src/cluster/redis/packing.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { createAccessTokens } from "../../../../src/credentials/access-tokens.ts";
import { createAccountStore } from "../../../../src/credentials/account-store.ts";
import { createAuthClient } from "../../../../src/credentials/auth-client.ts";
import { createStoreSource } from "../../../../src/credentials/sources/store.ts";
import { createHttp1Transport } from "../../../../src/wire/http/h1-transport.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { type AccountsStage, makeHome, setUpAccounts } from "../../../credentials/support/accounts-stage.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/** A node with a home folder of its own, which looks for changes only when it is told to. */
async function openNode(redis: RedisProcess, { url: origin }: AccountsStage, home = makeHome(), key = "a key") {
  const link = await openLink(redis, defer);
  const local = createAccountStore({ home, keychain: undefined, onNotice: () => {} });
  const packing = new Packing(new Secret(key), "logins");
  const store = new SharedLogins({
    link,
    packing,
    local,
    onProblem: (text) => expect.unreachable(text),
    intervalMs: 3_600_000,
  });
  const transport = createHttp1Transport();
  defer(() => {
    store.close();
    transport.destroy();
  });
  const auth = createAuthClient({ transport, origin });
  const sources = [createStoreSource({ store, origin, account: undefined })];
  const tokens = createAccessTokens({ store, auth, origin, sources, onSecret: () => {}, onNotice: () => {} });
  return { link, store, local, tokens };
}

describe.skipIf(!hasRedis)("logins of several nodes", () => {
  it("are renewed by one of them when 50 requests on three nodes need it at once (REL-36)", async () => {
    const redis = await startRedis(defer);
    const backend = await setUpAccounts();
    // Its time is over, so every node has to renew it.
    const { refresh } = await backend.signIn("default", { ttlS: -10 });
    const nodes = [
      await openNode(redis, backend, backend.home),
      await openNode(redis, backend),
      await openNode(redis, backend),
    ];
    for (const { store } of nodes) await store.sync();
    expect((await nodes[2]?.local.read("default"))?.login.refresh?.reveal()).toBe(refresh);
    const given = await Promise.all(
      Array.from({ length: 50 }, async (_value, at) => (await nodes[at % 3]?.tokens.get(undefined))?.token.reveal()),
    );
    expect(new Set(given).size).toBe(1);
    expect(backend.refreshes()).toBe(1);
    // And the next renewal begins with what the last one got.
    const renewed = await nodes[1]?.tokens.renew(undefined, new Secret(given[0] ?? ""));
    expect(renewed === undefined || renewed.token.reveal() !== given[0]).toBe(true);
  });

  it("are encrypted: neither a token nor the name of an account is in Redis, and another key reads nothing (SEC-48)", async () => {
    const redis = await startRedis(defer);
    const backend = await setUpAccounts();
    const { access, refresh } = await backend.signIn("my-account");
    const one = await openNode(redis, backend, backend.home);
    await one.store.sync();
    const stored = await one.link.ask(
      async (client) => JSON.stringify(await client.hGetAll(one.link.key("logins"))),
      () => "",
    );
    expect(stored.length).toBeGreaterThan(100);
    for (const secret of [access, refresh, "my-account"]) expect(stored).not.toContain(secret);
    const stranger = await openNode(redis, backend, makeHome(), "another key");
    await stranger.store.sync();
    expect(stranger.local.list()).toEqual([]);
  });

  it("that are signed out on one node are signed out on all", async () => {
    const redis = await startRedis(defer);
    const backend = await setUpAccounts();
    await backend.signIn("default");
    const [one, other] = [await openNode(redis, backend, backend.home), await openNode(redis, backend)];
    await one.store.sync();
    await other.store.sync();
    // As the command line does it.
    await other.local.lock.run(() => other.local.remove("default"));
    await other.store.sync();
    await one.store.sync();
    expect([one.local.list(), other.local.list()]).toEqual([[], []]);
  });

  it("that one node cannot read for a while stay signed in on all", async () => {
    const redis = await startRedis(defer);
    const backend = await setUpAccounts();
    await backend.signIn("default");
    const [one, other] = [await openNode(redis, backend, backend.home), await openNode(redis, backend)];
    await one.store.sync();
    await other.store.sync();
    const read = vi.spyOn(other.local, "read").mockResolvedValue(undefined);
    for (let time = 0; time < 2; time++) await other.store.lock.run(() => {});
    read.mockRestore();
    await other.store.sync();
    await one.store.sync();
    expect([one, other].map(({ local }) => local.list().map(({ name }) => name))).toEqual([["default"], ["default"]]);
    await other.local.lock.run(() => other.local.remove("default"));
    await other.store.sync();
    await one.store.sync();
    expect(one.local.list()).toEqual([]);
  });

  it("are renewed by each node itself while Redis is away (REL-45)", async () => {
    const redis = await startRedis(defer);
    const backend = await setUpAccounts();
    await backend.signIn("default", { ttlS: -10 });
    const one = await openNode(redis, backend, backend.home);
    await redis.kill();
    expect((await one.tokens.get(undefined)).token.reveal()).toBeDefined();
    expect(backend.refreshes()).toBe(1);
  });
});
