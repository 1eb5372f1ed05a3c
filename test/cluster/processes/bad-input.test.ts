import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { ClusterKeys } from "../../../src/cluster/internal/cluster-keys.ts";
import { listNodes } from "../../../src/cluster/nodes/list-nodes.ts";
import { Membership } from "../../../src/cluster/nodes/membership.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import { excursor } from "../../cli/support/excursor.ts";
import { openLink } from "../../contracts/nodes.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { answersTo, type Messages, TOOLS } from "../../gateway/support/tool-client.ts";
import { openOwnCluster } from "../support/own-cluster.ts";
import { freePort, hasRedis, startRedis } from "../support/redis-process.ts";

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

const SECRET = "a-secret-of-the-tests-with-enough-characters";

/** Each is refused at the start, or told in the log within seconds, with the name of the setting. */
describe.skipIf(!hasRedis)("a wrong setting", () => {
  it.each<[setting: string, code: string, environment: Record<string, string>]>([
    ["cluster.secret", "cluster_needs_secret", { EXCURSOR_CLUSTER_ADVERTISE: "http://192.0.2.1:8790" }],
    [
      "cluster.advertise",
      "cluster_advertise",
      // An address for documentation, which nobody has.
      { EXCURSOR_CLUSTER_ADVERTISE: "http://192.0.2.1:0", EXCURSOR_CLUSTER_SECRET: SECRET },
    ],
  ])("%s: %s", async (setting, code, environment) => {
    const { open } = await setUp();
    const port = await freePort();
    const given = Object.entries(environment).map(([name, value]) => [name, value.replace(/:0$/, `:${port}`)]);
    await expect(open("a", Object.fromEntries(given))).rejects.toMatchObject({
      kind: "config",
      code,
      message: expect.stringMatching(new RegExp(`^${setting.replace(".", "\\.")}`)),
    });
  });

  it("cluster.advertise: a port that another program has", async () => {
    const { open } = await setUp();
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    cleanups.push(() => server.close());
    const { port } = server.address() as { port: number };
    await expect(open("a", { EXCURSOR_CLUSTER_ADVERTISE: `http://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: "cluster_port",
      message: expect.stringMatching(/^cluster\.advertise/),
    });
  });

  it("cluster.secret: another one than the other gateways have", async () => {
    const { open } = await setUp();
    await open("a", { EXCURSOR_CLUSTER_SECRET: SECRET });
    await expect(open("b", { EXCURSOR_CLUSTER_SECRET: `${SECRET}-other` })).rejects.toMatchObject({
      code: "cluster_wrong_secret",
      message: expect.stringMatching(/^cluster\.secret: the gateway a /),
    });
  });

  it("cluster.node: the name of another gateway", async () => {
    const { open } = await setUp();
    await open("a");
    await expect(open("a")).rejects.toMatchObject({ code: "cluster_name_taken" });
  });

  it("cluster.redis: a wrong password, which is not shown", async () => {
    const { open } = await setUp();
    const { port } = await startRedis(defer, ["--requirepass", "the-right-password"]);
    const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: `redis://:a-wrong-one@127.0.0.1:${port}` }));
    expect(error).toMatchObject({ kind: "config", code: "redis_wrong_password" });
    expect(error.message).toMatch(/^cluster\.redis: Redis at 127\.0\.0\.1:\d+ refuses/);
    expect(JSON.stringify([error.message, error.hint])).not.toContain("a-wrong-one");
  });

  it("cluster.redis: a port at which nothing listens", async () => {
    const { open } = await setUp();
    const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: `redis://127.0.0.1:${await freePort()}` }));
    expect(error).toMatchObject({ code: "redis_unreachable", message: expect.stringMatching(/^cluster\.redis: /) });
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

  it.each<[what: string, answer: (socket: Socket) => void]>([
    ["speaks HTTP", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")],
    ["says nothing", () => {}],
  ])("cluster.redis: a program that %s", async (_, answer) => {
    const { open } = await setUp();
    const port = await listenAs((socket) => socket.once("data", () => answer(socket)));
    const error = await refusalOf(open("a", { EXCURSOR_CLUSTER_REDIS: `redis://127.0.0.1:${port}` }));
    expect(error).toMatchObject({ code: "redis_unreachable", message: expect.stringMatching(/^cluster\.redis: /) });
  });

  it("cluster.advertise: an address at which the others do not reach a gateway is told by them", async () => {
    const { open, redis } = await setUp();
    const a = await open("a", { EXCURSOR_CLUSTER_SECRET: SECRET });
    // It reaches itself there, so it is not refused at its own start.
    const lost = new Membership({
      link: await openLink(redis, defer),
      keys: new ClusterKeys(new Secret(SECRET)),
      name: "lost",
      version: "1",
      log: createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false }),
    });
    defer(() => lost.leave());
    const advertise = `http://127.0.0.1:${await freePort()}`;
    await lost.join(advertise, () => ({ parkedRuns: 0, forwarded: 0, served: 0 }));
    await expect.poll(a.log, { timeout: 10_000 }).toContain("cannot be reached at its cluster.advertise");
    expect(a.log()).toMatch(new RegExp(`"node":"lost","at":"${advertise}"`));
  });

  it("clocks that are an hour apart are told at the start, and the gateways work together", async () => {
    const { open, redis, environment } = await setUp();
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say {{result}} {{reused}}' }];
    const a = await open("a");
    const home = mkdtempSync(join(tmpdir(), "excursor-node-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    const { firstLine, output } = excursor(["serve", "--json"], {
      environment: {
        ...environment("ahead"),
        EXCURSOR_HOME: home,
        NODE_OPTIONS: `--import ${resolve("test/cli/support/an-hour-ahead.ts")}`,
      },
    });
    const { url, node } = JSON.parse(await firstLine()) as { readonly url: string; readonly node: string };
    expect(node).toBe("ahead");
    expect(output.stderr).toMatch(/clock of this machine and that of cluster\.redis are 3600 s apart/);
    const { nodes } = await listNodes(new Secret(redis.url));
    expect(nodes.map(({ name, clockAheadMs }) => [name, Math.round(clockAheadMs / 60_000)])).toEqual([
      ["a", 0],
      ["ahead", 60],
    ]);
    const ahead = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
    for (const [one, other] of [
      [a.client, ahead],
      [ahead, a.client],
    ] as const) {
      const ask = async (client: OpenAI, asked: Messages) =>
        (await client.chat.completions.create({ model: "gpt-5.5", messages: asked, tools: TOOLS })).choices[0]?.message;
      const answer = (await ask(one, messages)) ?? expect.unreachable();
      expect((await ask(other, [...messages, answer, ...answersTo(answer)]))?.content).toBe("saw a stream");
    }
  }, 60_000);

  it.each([
    ["EXCURSOR_CLUSTER_REDIS", "http://127.0.0.1:6379"],
    ["EXCURSOR_CLUSTER_REDIS", "redis://"],
    ["EXCURSOR_CLUSTER_NODE", "a name with spaces"],
    ["EXCURSOR_CLUSTER_ADVERTISE", "127.0.0.1:8790"],
    ["EXCURSOR_CLUSTER_ADVERTISE", "http://10.0.0.5"],
    ["EXCURSOR_CLUSTER_SECRET", "short"],
  ])("%s=%s has the wrong form", async (variable, value) => {
    const { open } = await setUp();
    await expect(open("a", { [variable]: value })).rejects.toThrow(new RegExp(`^${variable}: expected`));
  });
});
