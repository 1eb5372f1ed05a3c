import { createServer } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { openOwnCluster } from "./support/own-cluster.ts";
import { freePort, hasRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const setUp = () => openOwnCluster((cleanup) => cleanups.push(cleanup));

const SECRET = "a-secret-of-the-tests-with-enough-characters";

/** Each is refused at the start, by an error that begins with the name of the setting. */
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
