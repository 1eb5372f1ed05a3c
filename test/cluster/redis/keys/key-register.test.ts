import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { KeyRegister } from "../../../../src/cluster/redis/keys/key-register.ts";
import type { RedisClient, RedisLink } from "../../../../src/cluster/redis/redis-link.ts";
import { fileStamp } from "../../../../src/config/file-stamp.ts";
import {
  addKey,
  keysPath,
  mergeKeys,
  parseKey,
  readKeyState,
  readKeys,
  revokeKey,
} from "../../../../src/server/gate/keys/gateway-keys.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const LOOK_MS = 50;

/** A gateway with a home folder of its own. */
async function openNode(redis: RedisProcess, home = mkdtempSync(join(tmpdir(), "excursor-keys-"))) {
  const link = await openLink(redis, defer);
  const path = keysPath(home);
  const register = new KeyRegister({
    link,
    file: {
      stamp: () => fileStamp(path),
      read: () => readKeyState(path),
      parse: parseKey,
      merge: (other) => mergeKeys(home, other),
    },
    onProblem: (text) => expect.unreachable(text),
    intervalMs: LOOK_MS,
  });
  defer(() => {
    register.close();
    rmSync(home, { recursive: true, force: true });
  });
  const names = () => readKeys(path).map(({ name }) => name);
  const has = (...expected: string[]) => expect.poll(names, { timeout: 10_000 }).toEqual(expected);
  return { home, register, link, names, has };
}

const NO_LIMITS = { account: undefined, limits: { usage: ["5 tokens/day"], streams: 3 } };

/** Does something in Redis as its operator. */
const inRedis = <T>(link: RedisLink, work: (client: RedisClient, key: string) => Promise<T>): Promise<T> =>
  link.ask(
    (client) => work(client, link.key("register")),
    () => expect.unreachable("Redis is away"),
  );

describe.skipIf(!hasRedis)("issued keys of several gateways", () => {
  it("are known to all soon, with their limits, and revoked on all (SEC-09)", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis)));
    const [one, other] = nodes;
    if (!one || !other) return expect.unreachable();
    await addKey(one.home, "alice", NO_LIMITS);
    for (const { has } of nodes) await has("alice");
    expect(readKeys(keysPath(other.home))).toEqual(readKeys(keysPath(one.home)));
    await revokeKey(other.home, "alice");
    for (const { has } of nodes) await has();
  });

  it("that are made on all of them at the same time are all kept", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis)));
    await Promise.all(nodes.map(({ home }, at) => addKey(home, `key-${at}`, NO_LIMITS)));
    for (const { names } of nodes) {
      await expect.poll(() => names().toSorted(), { timeout: 10_000 }).toEqual(["key-0", "key-1", "key-2"]);
    }
  });

  it("stay revoked when a gateway comes back that still has them, or on which they were revoked meanwhile", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await addKey(one.home, "bob", NO_LIMITS);
    await other.has("alice", "bob");
    other.register.close();
    await revokeKey(other.home, "bob");
    await revokeKey(one.home, "alice");
    await one.has("bob");
    const again = await openNode(redis, other.home);
    await again.has();
    await one.has();
  });

  it("are those of the file while Redis is away, and come back to an empty Redis (REL-45)", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await other.has("alice");
    await redis.kill();
    await expect.poll(() => one.link.isUp).toBe(false);
    await revokeKey(one.home, "alice");
    await addKey(one.home, "carol", NO_LIMITS);
    expect([one.names(), other.names()]).toEqual([["carol"], ["alice"]]);
    await redis.restart();
    await other.has("carol");
  });

  it("do not come back with an old register, and what was made since is not lost (SEC-09)", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await other.has("alice");
    const old = await inRedis(one.link, (client, key) => client.hGetAll(key));
    await revokeKey(one.home, "alice");
    await addKey(other.home, "bob", NO_LIMITS);
    await Promise.all([one.has("bob"), other.has("bob")]);
    await inRedis(one.link, (client, key) => client.hSet(key, { ...old }));
    for (const { register } of [one, other]) for (let time = 0; time < 3; time++) await register.sync();
    expect([one.names(), other.names()]).toEqual([["bob"], ["bob"]]);
    const entries = await inRedis(one.link, (client, key) => client.hGet(key, "entries"));
    expect(entries).toContain("bob");
    expect(entries).toContain("revokedAt");
  });

  it.each([
    ["is no JSON", "damaged"],
    ["is no list", '{"keys":[]}'],
    ["has entries that are none", '[null, 5, "x", {"id":7}]'],
  ])("survive a register that %s", async (_, text) => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await other.has("alice");
    await inRedis(one.link, (client, key) => client.hSet(key, { version: "other", entries: text }));
    await revokeKey(one.home, "alice");
    await addKey(other.home, "bob", NO_LIMITS);
    await one.has("bob");
    await other.has("bob");
  });

  it("survive a register of another type", async () => {
    const redis = await startRedis(defer);
    const one = await openNode(redis);
    await addKey(one.home, "alice", NO_LIMITS);
    await one.register.sync();
    await inRedis(one.link, async (client, key) => {
      await client.del(key);
      await client.set(key, "text", { expiration: { type: "EX", value: 60 } });
    });
    await one.register.sync();
    expect(one.names()).toEqual(["alice"]);
  });

  it("of a newer version stay in the register and are not accepted here; the others are revoked as ever (SEC-09)", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await other.has("alice");
    const future = { id: "key_new_1", name: "new", digest: "00", limits: { usage: ["5 tokens/moon"] }, more: true };
    await inRedis(one.link, async (client, key) => {
      const entries = JSON.parse((await client.hGet(key, "entries")) ?? "[]") as object[];
      await client.hSet(key, { version: "newer", entries: JSON.stringify([...entries, future]) });
    });
    await one.register.sync();
    await revokeKey(one.home, "alice");
    await Promise.all([one.has(), other.has()]);
    const kept = await inRedis(one.link, (client, key) => client.hGet(key, "entries"));
    expect(JSON.parse(kept ?? "[]")).toContainEqual(future);
  });
});
