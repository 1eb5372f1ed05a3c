import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SharedKeys } from "../../../../src/cluster/redis/keys/shared-keys.ts";
import { Packing } from "../../../../src/cluster/redis/packing.ts";
import { fileStamp } from "../../../../src/config/file-stamp.ts";
import { Secret } from "../../../../src/core/secret.ts";
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

/** A node with a home folder of its own. */
async function openNode(
  redis: RedisProcess,
  home = mkdtempSync(join(tmpdir(), "excursor-keys-")),
  secret = "the secret of the cluster",
) {
  const link = await openLink(redis, defer);
  const path = keysPath(home);
  const keys = new SharedKeys({
    link,
    packing: new Packing(new Secret(secret), "keys"),
    file: {
      stamp: () => fileStamp(path),
      read: () => readKeyState(path),
      parse: parseKey,
      merge: (other) => mergeKeys(home, other),
    },
    onProblem: (text) => expect.unreachable(text),
  });
  defer(() => {
    keys.close();
    rmSync(home, { recursive: true, force: true });
  });
  return { home, keys, link, names: () => readKeys(path).map(({ name }) => name) };
}

const NO_LIMITS = { account: undefined, limits: { usage: ["5 tokens/day"], streams: 3 } };

describe.skipIf(!hasRedis)("issued keys of several nodes", () => {
  it("are known to all soon, with their limits, and revoked on all (SEC-09)", async () => {
    const redis = await startRedis(defer);
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(redis)));
    const [one, other] = nodes;
    if (!one || !other) return expect.unreachable();
    await addKey(one.home, "alice", NO_LIMITS);
    const within = { timeout: 10_000, interval: 20 };
    for (const { names } of nodes) await vi.waitFor(() => expect(names()).toEqual(["alice"]), within);
    expect(readKeys(keysPath(other.home))).toEqual(readKeys(keysPath(one.home)));
    await revokeKey(other.home, "alice");
    for (const { names } of nodes) await vi.waitFor(() => expect(names()).toEqual([]), within);
  });

  it("of somebody without the cluster's secret are not accepted (SEC-49)", async () => {
    const redis = await startRedis(defer);
    const [one, forger] = [await openNode(redis), await openNode(redis, undefined, "another secret")];
    await addKey(forger.home, "mallory", NO_LIMITS);
    await forger.keys.sync();
    await one.keys.sync();
    expect(one.names()).toEqual([]);
  });

  it("stay revoked when a node comes back that still has them, or on which they were revoked meanwhile", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await addKey(one.home, "bob", NO_LIMITS);
    await one.keys.sync();
    await other.keys.sync();
    other.keys.close();
    await revokeKey(other.home, "bob");
    await revokeKey(one.home, "alice");
    await one.keys.sync();
    const again = await openNode(redis, other.home);
    await again.keys.sync();
    await one.keys.sync();
    expect([one.names(), again.names()]).toEqual([[], []]);
  });

  it("are those of the file while Redis is away, and come back to an empty Redis (REL-45)", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await addKey(one.home, "alice", NO_LIMITS);
    await one.keys.sync();
    await other.keys.sync();
    await redis.kill();
    await revokeKey(one.home, "alice");
    await addKey(one.home, "carol", NO_LIMITS);
    await one.keys.sync();
    expect([one.names(), other.names()]).toEqual([["carol"], ["alice"]]);
    await redis.restart();
    await vi.waitFor(() => expect(other.names()).toEqual(["carol"]), { timeout: 5000 });
  });
});
