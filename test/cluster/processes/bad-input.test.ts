import { once } from "node:events";
import { createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { openOwnCluster } from "../support/own-cluster.ts";
import { hasRedis, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);
const setUp = () => openOwnCluster(defer);

const refusalOf = (work: Promise<unknown>): Promise<ExcursorError> =>
  work.then(
    () => expect.unreachable("it was opened"),
    (error: unknown) => (error instanceof ExcursorError ? error : expect.unreachable(String(error))),
  );

/** Listens as another program than Redis. Returns the port. */
async function listenAs(answer: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    answer(socket.on("error", () => {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

/** Each is refused at the start with the name of the setting. */
describe.skipIf(!hasRedis)("a wrong setting", () => {
  it("cluster.redis: another machine without TLS or a password (SEC-49)", async () => {
    const { open } = await setUp();
    for (const [url, missing] of [
      ["redis://192.0.2.1:6379", "a password and not TLS"],
      ["rediss://192.0.2.1:6379", "a password."],
      ["redis://user:pw-of-redis@redis.internal:6379", "TLS"],
    ] as const) {
      const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: url }));
      expect(error).toMatchObject({ kind: "config", code: "redis_not_protected" });
      expect(error.message).toContain(missing);
      expect(error.message).not.toContain("pw-of-redis");
    }
  });

  it("cluster.redis: a wrong password, which is not shown", async () => {
    const { open } = await setUp();
    const { port } = await startRedis(defer, ["--requirepass", "the-right-password"]);
    const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: `redis://:a-wrong-one@127.0.0.1:${port}` }));
    expect(error).toMatchObject({ kind: "config", code: "redis_wrong_password" });
    expect(error.message).toMatch(/^cluster\.redis: Redis at 127\.0\.0\.1:\d+ refuses/);
    expect(JSON.stringify([error.message, error.hint])).not.toContain("a-wrong-one");
  });

  it.each([
    ["6, which tells its version", "%2\r\n+server\r\n+redis\r\n+version\r\n+6.2.14\r\n", "version 6.2.14"],
    ["5, which does not know HELLO", "-ERR unknown command `HELLO`\r\n", "does not know HELLO"],
  ])("cluster.redis: a Redis %s", async (_, reply, told) => {
    const { open } = await setUp();
    const port = await listenAs((socket) => {
      socket.on("data", (data) => {
        for (const __ of data.toString().matchAll(/^\*\d+\r$/gm)) socket.write(reply);
      });
    });
    const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: `redis://127.0.0.1:${port}` }));
    expect(error).toMatchObject({ kind: "config", code: "redis_too_old" });
    expect(error.message).toMatch(new RegExp(`^cluster\\.redis: .*too old.*${told}`));
  });

  it("cluster.redis: a program that speaks HTTP", async () => {
    const { open } = await setUp();
    const port = await listenAs((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")),
    );
    const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: `redis://127.0.0.1:${port}` }));
    expect(error).toMatchObject({ kind: "config", code: "not_redis" });
  });

  it.each([
    ["EXCURSOR_CLUSTER_REDIS", "http://127.0.0.1:6379"],
    ["EXCURSOR_CLUSTER_REDIS", "redis://"],
    ["EXCURSOR_CLUSTER_NODE", "a name with spaces"],
    ["EXCURSOR_CLUSTER_TRUSTED_NETWORK", "perhaps"],
  ])("%s=%s has the wrong form", async (variable, value) => {
    const { open } = await setUp();
    await expect(open("a", { [variable]: value })).rejects.toThrow(new RegExp(`^${variable}: expected`));
  });
});
