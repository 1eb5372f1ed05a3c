import { createClient } from "@redis/client";
import { afterEach, describe, expect, it } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { openRedisLink } from "../../src/cluster/redis/redis-link.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import { createLog } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { openOwnCluster } from "./support/own-cluster.ts";
import { freePort, hasRedis, startRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

/** Opens a link that waits for a second. */
const open = async (url: string) => {
  const link = await openRedisLink({ url: new Secret(url), log, patienceMs: 1000 });
  defer(() => link.close());
  return link;
};

const refusalOf = (work: Promise<unknown>): Promise<ExcursorError> =>
  work.then(
    () => expect.unreachable("it was opened"),
    (error: unknown) => ExcursorError.from(error),
  );

describe.skipIf(!hasRedis)("a start without Redis", () => {
  it("waits, says so in /readyz, and goes on when Redis is there (REL-45)", async () => {
    const { redis, open: start } = await openOwnCluster(defer);
    await redis.kill();
    const port = await freePort();
    const starting = start("a", { EXCURSOR_PORT: String(port) });
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
      return response && [response.status, ((await response.json()) as { status: string }).status];
    };
    await expect.poll(() => ask("/readyz"), { timeout: 20_000 }).toEqual([503, "waiting for redis"]);
    expect(await ask("/healthz")).toEqual([200, "ok"]);
    expect((await ask("/v1/models"))?.[0]).toBe(503);
    await redis.restart();
    const { log: text } = await starting;
    expect(await ask("/readyz")).toEqual([200, "ready"]);
    expect(text().match(/cannot be used yet/g)).toHaveLength(1);
  }, 60_000);

  it("gives up with an exit code after which a service manager starts it again", async () => {
    const error = await refusalOf(open(`redis://127.0.0.1:${await freePort()}`));
    expect([error.code, exitCodeOf(error.kind)]).toEqual(["redis_unreachable", 75]);
    expect(error.message).toMatch(/^cluster\.redis: Redis at 127\.0\.0\.1:\d+ cannot be used \(ECONNREFUSED\)/);
  });

  it.each([
    ["is a replica", ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]],
    ["is full", ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]],
  ])("waits for a Redis that %s, and gives up in the same way", async (_, breakIt, mendIt) => {
    const { url } = await startRedis(defer);
    const operator = await createClient({ url }).connect();
    defer(() => operator.destroy());
    await operator.sendCommand(breakIt);
    const error = await refusalOf(open(url));
    expect([error.code, exitCodeOf(error.kind)]).toEqual(["redis_unreachable", 75]);
    expect(error.message).toContain("takes no writes");
    const opening = open(url);
    setTimeout(() => void operator.sendCommand(mendIt), 400);
    expect((await opening).isUp).toBe(true);
  });

  it("does not wait for a wrong password", async () => {
    const { port } = await startRedis(defer, ["--requirepass", "a-long-password"]);
    const begun = performance.now();
    const error = await refusalOf(open(`redis://:wrong@127.0.0.1:${port}`));
    expect([error.code, exitCodeOf(error.kind)]).toEqual(["redis_wrong_password", 78]);
    expect(performance.now() - begun).toBeLessThan(900);
  });
});

describe.skipIf(!hasRedis)("two gateways of one name", () => {
  it("are told in the log, once", async () => {
    const { Heartbeat } = await import("../../src/cluster/gateways.ts");
    const redis = await startRedis(defer);
    let text = "";
    const write = (line: string) => {
      text += line;
    };
    const telling = createLog({ level: "warn", redactor: createRedactor(), write, isPretty: false });
    const beat = async () => {
      const link = await openRedisLink({ url: new Secret(redis.url), log });
      const options = { link, log: telling, name: "same", version: "1", beatMs: 3_600_000 };
      const heartbeat = new Heartbeat(options, () => ({ isDraining: false, parkedRuns: 0, replays: 0 }));
      defer(async () => {
        await heartbeat.close();
        link.close();
      });
      return heartbeat;
    };
    const [one, other] = [await beat(), await beat()];
    // A predecessor that was killed looks like this once.
    await other.beat();
    expect(text).toBe("");
    for (let time = 0; time < 3; time++) for (const each of [one, other]) await each.beat();
    expect(text.match(/another gateway has the same name/g)).toHaveLength(2);
  });
});
