import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { createClient } from "@redis/client";
import { afterEach, describe, expect, it } from "vitest";
import { openRedisLink, type RedisLink } from "../../../src/cluster/redis/redis-link.ts";
import { WriteBehind } from "../../../src/cluster/redis/write-behind.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import { freePort, hasRedis, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

async function open(url: string): Promise<RedisLink> {
  const link = await openRedisLink({ url: new Secret(url), log, patienceMs: 500 });
  defer(() => link.close());
  return link;
}

const refusal = async (url: string): Promise<ExcursorError> =>
  open(url).then(
    () => expect.unreachable("the link was opened"),
    (error: unknown) => (error instanceof ExcursorError ? error : expect.unreachable(String(error))),
  );

/** Resolves when the link is up, or down. */
const whenUp = (link: RedisLink, isUp: boolean): Promise<void> =>
  new Promise((resolve) => {
    if (link.isUp === isUp) return resolve();
    const stop = link.onChange((now) => {
      if (now !== isUp) return;
      stop();
      resolve();
    });
  });

describe.skipIf(!hasRedis)("the link to Redis", () => {
  it("asks Redis, with prefixed keys", async () => {
    const { url } = await startRedis(defer);
    const link = await open(url);
    expect(link.key("node", "a")).toBe("excursor:v1:node:a");
    await link.ask(
      (client) => client.set(link.key("x"), "1", { expiration: { type: "EX", value: 5 } }),
      () => null,
    );
    expect(
      await link.ask(
        (client) => client.get(link.key("x")),
        () => "away",
      ),
    ).toBe("1");
  });

  it("gives the fallback while Redis is paused, and Redis again afterwards", async () => {
    const redis = await startRedis(defer);
    const link = await open(redis.url);
    redis.signal("SIGSTOP");
    expect(
      await link.ask(
        (client) => client.get("x"),
        () => "away",
      ),
    ).toBe("away");
    await whenUp(link, false);
    // No command is sent now, so nothing waits.
    expect(
      await link.ask(
        () => expect.unreachable(),
        () => "away",
      ),
    ).toBe("away");
    redis.signal("SIGCONT");
    await whenUp(link, true);
    expect(
      await link.ask(
        (client) => client.get("x"),
        () => "away",
      ),
    ).toBe(null);
  });

  it("stays up after one late reply, if the next command has its reply in time", async () => {
    const { url } = await startRedis(defer);
    const link = await open(url);
    const changes: boolean[] = [];
    link.onChange((isUp) => changes.push(isUp));
    const slow = Promise.withResolvers<string>();
    expect(
      await link.ask(
        () => slow.promise,
        (why) => why,
      ),
    ).toBe("late");
    expect(
      await link.ask(
        (client) => client.get("x"),
        () => "away",
      ),
    ).toBe(null);
    expect([link.isUp, changes, link.failures]).toEqual([true, [], 1]);
  });

  it("connects again to a Redis that was killed", async () => {
    const redis = await startRedis(defer);
    const link = await open(redis.url);
    await redis.kill();
    expect(
      await link.ask(
        (client) => client.get("x"),
        () => "away",
      ),
    ).toBe("away");
    await whenUp(link, false);
    await redis.restart();
    await whenUp(link, true);
    expect(
      await link.ask(
        (client) => client.get("x"),
        () => "away",
      ),
    ).toBe(null);
  });

  it("gives the fallback for a command that Redis refuses, and stays up", async () => {
    const { url } = await startRedis(defer);
    const link = await open(url);
    expect(
      await link.ask(
        (client) => client.sendCommand(["NONSENSE"]),
        () => "refused" as never,
      ),
    ).toBe("refused");
    expect(link.isUp).toBe(true);
  });

  it.each([
    ["is full", ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]],
    ["is a replica", ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]],
  ])("counts a Redis that %s as away, keeps writes, and makes them later (REL-45)", async (_, breakIt, mendIt) => {
    const { url } = await startRedis(defer);
    const operator = await createClient({ url }).connect();
    defer(() => operator.destroy());
    const link = await open(url);
    const writes = new WriteBehind(link);
    defer(() => writes.close());
    await operator.sendCommand(breakIt);
    void writes.add({
      bytes: 1,
      write: (own) => own.eval("return redis.call('SET', KEYS[1], '1')", { keys: ["excursor:x"] }),
    });
    await writes.settled();
    await whenUp(link, false);
    await operator.sendCommand(mendIt);
    await whenUp(link, true);
    await writes.settled();
    expect(await operator.get("excursor:x")).toBe("1");
  });

  it("opens a new connection if the host has vanished", async () => {
    const redis = await startRedis(defer);
    const sockets: Socket[] = [];
    const proxy = createServer((socket) => {
      const upstream = connect(redis.port, "127.0.0.1");
      sockets.push(socket, upstream);
      socket.on("error", () => {}).pipe(upstream.on("error", () => {}));
      upstream.pipe(socket);
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    defer(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    const { port } = proxy.address() as { port: number };
    const link = await openRedisLink({ url: new Secret(`redis://127.0.0.1:${port}`), log, silenceMs: 500 });
    defer(() => link.close());
    // Nothing arrives any more, and no end either.
    for (const socket of sockets.splice(0)) socket.unpipe().pause();
    await whenUp(link, false);
    await whenUp(link, true);
  });

  it("names the setting when the password is wrong or missing, and does not show it", async () => {
    const { port } = await startRedis(defer, ["--requirepass", "right-password"]);
    for (const user of [":wrong-password@", ""]) {
      const error = await refusal(`redis://${user}127.0.0.1:${port}`);
      expect(error).toMatchObject({ kind: "config", code: "redis_wrong_password" });
      expect(error.message).toContain("cluster.redis");
      expect(error.message).not.toContain("wrong-password");
    }
    expect((await open(`redis://:right-password@127.0.0.1:${port}`)).isUp).toBe(true);
  });

  it("names the setting when the ACL user may not write", async () => {
    const { port } = await startRedis(defer, ["--user", "reader", "on", ">pw", "~excursor:*", "+@read", "+hello"]);
    expect(await refusal(`redis://reader:pw@127.0.0.1:${port}`)).toMatchObject({ code: "redis_no_permission" });
  });
});

it("refuses a Redis that is too old", async () => {
  const server = createServer((socket: Socket) => {
    socket.on("data", (data) => {
      for (const _ of data.toString().match(/\r\n(?:HELLO|CLIENT|SELECT)\r\n/gi) ?? []) {
        socket.write("%2\r\n+server\r\n+redis\r\n+version\r\n+6.2.14\r\n");
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(() => server.close());
  const { port } = server.address() as { port: number };
  const error = await refusal(`redis://127.0.0.1:${port}`);
  expect(error).toMatchObject({ kind: "config", code: "redis_too_old" });
  expect(error.message).toContain("6.2.14");
});

it("names the setting when nothing listens there", async () => {
  const error = await refusal(`redis://user:a-password@127.0.0.1:${await freePort()}`);
  expect(error).toMatchObject({ kind: "busy", code: "redis_unreachable" });
  expect(error.message).toMatch(/^cluster\.redis: Redis at 127\.0\.0\.1:\d+ cannot be used \(ECONNREFUSED\)/);
}, 20_000);
