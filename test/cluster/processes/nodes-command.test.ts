import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { excursor } from "../../cli/support/excursor.ts";
import { openOwnCluster } from "../support/own-cluster.ts";
import { freePort, hasRedis, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/** Runs `excursor nodes` in a home folder without settings. */
function nodes(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const home = mkdtempSync(join(tmpdir(), "excursor-nodes-"));
  defer(() => rmSync(home, { recursive: true, force: true }));
  return excursor(["nodes", ...args], { environment: { EXCURSOR_HOME: home, ...environment } }).exited;
}

describe("excursor nodes", { timeout: 60_000 }, () => {
  it.skipIf(!hasRedis)("lists the gateways as a table and as JSON", async () => {
    const { redis, open } = await openOwnCluster(defer, {}, {}, { handoverMs: 60_000 });
    const [, b] = [await open("a"), await open("b")];
    const table = await nodes(["--redis", redis.url]);
    expect(table).toMatchObject({ code: 0, stderr: "" });
    const [head, ...rows] = table.stdout.trim().split("\n");
    expect(head).toMatch(/^NODE +STATE +UP FOR +PARKED +REPLAYED +VERSION$/);
    expect(rows).toEqual([expect.stringMatching(/^a +up +\d+ s +0 +0 +1\.2\.3$/), expect.stringMatching(/^b +up /)]);
    const json = await nodes(["--json"], { EXCURSOR_CLUSTER_REDIS: redis.url });
    expect(json).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(json.stdout)).toMatchObject([
      { name: "a", version: "1.2.3", isDraining: false, parkedRuns: 0, replays: 0 },
      { name: "b" },
    ]);
    const stopped = b.close();
    await expect.poll(() => fetch(`${b.url}/readyz`).then(({ status }) => status)).toBe(503);
    const states = async () => (await nodes(["--redis", redis.url])).stdout;
    await expect.poll(states, { timeout: 20_000 }).toMatch(/^b +stopping /m);
    await b.close(0);
    await stopped;
    await expect.poll(states, { timeout: 20_000 }).not.toMatch(/^b /m);
  });

  it.skipIf(!hasRedis)("says how to start a gateway if there is none", async () => {
    const { url } = await startRedis(defer);
    const table = await nodes(["--redis", url]);
    expect([table.code, table.stdout]).toEqual([0, expect.stringMatching(/^No gateway .*excursor serve --redis/)]);
    expect(await nodes(["--redis", url, "--json"])).toMatchObject({ code: 0, stdout: "[]\n" });
  });

  it("needs the setting cluster.redis", async () => {
    const { code, stdout, stderr } = await nodes([]);
    expect([code, stdout]).toEqual([78, ""]);
    expect(stderr).toMatch(/cluster\.redis is not set[\s\S]*--redis/);
  });

  it("names the setting if no Redis is there", async () => {
    const { code, stdout, stderr } = await nodes(["--redis", `redis://127.0.0.1:${await freePort()}`, "--json"]);
    expect([code, stdout]).toEqual([75, ""]);
    expect(stderr).toMatch(/cluster\.redis: Redis at 127\.0\.0\.1:\d+ cannot be used \(ECONNREFUSED\)/);
  });

  it.skipIf(!hasRedis)("names the setting if Redis does not reply, and does not show the password", async () => {
    const redis = await startRedis(defer, ["--requirepass", "a-long-password"]);
    defer(() => redis.signal("SIGCONT"));
    redis.signal("SIGSTOP");
    const url = `redis://:a-long-password@127.0.0.1:${redis.port}`;
    const { code, stdout, stderr } = await nodes([], { EXCURSOR_CLUSTER_REDIS: url });
    expect([code, stdout]).toEqual([75, ""]);
    expect(stderr).toContain("cluster.redis");
    expect(stderr).not.toContain("a-long-password");
  });
});
