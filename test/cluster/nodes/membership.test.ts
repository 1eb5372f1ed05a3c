import { afterEach, describe, expect, it } from "vitest";
import { ClusterKeys } from "../../../src/cluster/internal/cluster-keys.ts";
import { beat, leave } from "../../../src/cluster/nodes/beat.ts";
import { listNodes } from "../../../src/cluster/nodes/list-nodes.ts";
import { Membership, type MembershipOptions } from "../../../src/cluster/nodes/membership.ts";
import type { NodeRecord } from "../../../src/cluster/nodes/node-record.ts";
import { openRedisLink } from "../../../src/cluster/redis/redis-link.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import { hasRedis, type RedisProcess, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SECRET = "the secret of the cluster, long enough";

async function open(redis: RedisProcess, name: string, over: Partial<MembershipOptions> & { secret?: string } = {}) {
  let text = "";
  const write = (line: string) => {
    text += line;
  };
  const log = createLog({ level: "info", redactor: createRedactor(), write, isPretty: false });
  const link = await openRedisLink({ url: new Secret(redis.url), log });
  const keys = new ClusterKeys(new Secret(over.secret ?? SECRET));
  const node = new Membership({ link, keys, name, version: "1", log, ...over });
  cleanups.push(async () => {
    await node.leave();
    link.close();
  });
  const join = async (advertise = `http://${name}:1`) => {
    await node.look();
    await node.join(advertise, () => ({ parkedRuns: 1, forwarded: 2, served: 3 }));
  };
  /** As a process that is killed: no heartbeat follows, and its record stays. */
  const kill = () => link.close();
  return { node, link, join, kill, log: () => text };
}

const start = () => startRedis((cleanup) => cleanups.push(cleanup));

describe.skipIf(!hasRedis)("membership", () => {
  it("asks for an unknown tag within the time that the request has left (REL-45)", async () => {
    const redis = await start();
    // Without a heartbeat of its own, which would find the other one, too.
    const a = await open(redis, "a");
    await a.node.look();
    const b = await open(redis, "b");
    const whys: string[] = [];
    const askLate = () =>
      a.link.askBriefly<void>(
        () => new Promise(() => {}),
        (why) => void whys.push(why),
      );
    await a.link.serveRequest(async () => {
      await askLate();
      await b.join();
      // Without time left, Redis is not asked, so a gateway that has just joined is not known yet.
      expect(await a.node.find(b.node.tag)).toBeUndefined();
    });
    expect(whys).toEqual(["late"]);
    expect(await a.node.find(b.node.tag)).toMatchObject({ name: "b" });
  });

  it("gateways find each other by tag, and forget those that leave", async () => {
    const redis = await start();
    const [a, b] = [await open(redis, "a"), await open(redis, "b")];
    await a.join();
    await b.join();
    expect(a.node.tag).toMatch(/^[\w-]{4}$/);
    expect(await a.node.find(b.node.tag)).toMatchObject({ name: "b", advertise: "http://b:1" });
    expect(b.node.nodes().map(({ name, parkedRuns }) => [name, parkedRuns])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    const { tag } = b.node;
    await b.node.leave();
    await expect.poll(() => a.node.nodes().length, { timeout: 5000 }).toBe(1);
    expect(await a.node.find(tag)).toBeUndefined();
  });

  it("a heartbeat reads the records of the others only if a gateway has come, gone or begun to drain", async () => {
    const redis = await start();
    const { link } = await open(redis, "reader");
    const record = (name: string, over: Partial<NodeRecord> = {}): NodeRecord => ({
      ...{ name, tag: `tag${name}`, advertise: `http://${name}:1`, version: "1", joinedAt: 0, beats: 0 },
      ...{ isDraining: false, clockAheadMs: 0, parkedRuns: 0, forwarded: 0, served: 0, proof: "" },
      ...over,
    });
    const beats = (own: NodeRecord, known?: string) =>
      link.ask(
        (client) => beat(client, link, own, known),
        () => expect.unreachable(),
      );
    let known = "";
    /** The names that a heartbeat of `a` reads. */
    const read = async () => {
      const reply = await beats(record("a", { beats: 1 }), known);
      if (reply.type === "taken") return expect.unreachable();
      known = reply.version;
      return reply.nodes?.map(({ name, isDraining }) => (isDraining ? `${name} drains` : name)).sort();
    };
    expect(await read()).toEqual(["a"]);
    expect(await read()).toBeUndefined();
    await beats(record("b"));
    expect(await read()).toEqual(["a", "b"]);
    await beats(record("b", { beats: 1, parkedRuns: 7 }));
    expect(await read()).toBeUndefined();
    await beats(record("b", { beats: 2, isDraining: true }));
    expect(await read()).toEqual(["a", "b drains"]);
    await link.ask(
      (client) => leave(client, link, record("b")),
      () => expect.unreachable(),
    );
    expect(await read()).toEqual(["a"]);
    expect(await read()).toBeUndefined();
    await beats(record("c"));
    await read();
    // As if its last heartbeat was long ago.
    await link.ask(
      (client) => client.zAdd(link.key("nodes"), { score: 1, value: "c" }),
      () => expect.unreachable(),
    );
    expect(await read()).toEqual(["a"]);
    known = "a version of a Redis that was lost";
    expect(await read()).toEqual(["a"]);
  });

  it("two gateways of one name are refused, and the setting is named", async () => {
    const redis = await start();
    await (await open(redis, "same")).join("http://first:1");
    const second = await open(redis, "same");
    await expect(second.join()).rejects.toMatchObject({
      kind: "config",
      code: "cluster_name_taken",
      message: expect.stringMatching(/^cluster\.node: .*http:\/\/first:1.*same/),
    });
  });

  it("a gateway that was killed leaves its name to its successor", async () => {
    const redis = await start();
    const first = await open(redis, "same");
    await first.join();
    first.kill();
    const second = await open(redis, "same");
    await second.join();
    expect(second.node.nodes().map(({ tag }) => tag)).toEqual([second.node.tag]);
  }, 20_000);

  it("a gateway with another secret is refused, and one that writes its record is ignored", async () => {
    const redis = await start();
    const first = await open(redis, "a");
    await first.join();
    const stranger = await open(redis, "b", { secret: "another secret, which is as long as it" });
    await expect(stranger.join()).rejects.toMatchObject({ code: "cluster_wrong_secret", message: /^cluster\.secret/ });
    await stranger.node.join("http://stranger:1", () => ({ parkedRuns: 0, forwarded: 0, served: 0 }));
    await expect.poll(first.log, { timeout: 5000 }).toContain("cluster.secret");
    expect(await first.node.find(stranger.node.tag)).toBeUndefined();
  });

  it("a clock that is minutes off is told, and the cluster's clock is that of Redis", async () => {
    const redis = await start();
    const { node, join, log } = await open(redis, "a", { wallClock: () => Date.now() + 180_000 });
    await join();
    expect(log()).toMatch(/clock of this machine and that of cluster\.redis are 180 s apart/);
    expect(Math.abs(node.now() - Date.now())).toBeLessThan(5000);
    expect(node.nodes()[0]?.clockAheadMs).toBeGreaterThan(170_000);
  });

  it("a gateway that registers first with an empty Redis still knows the others", async () => {
    const redis = await start();
    const [a, b] = [await open(redis, "a"), await open(redis, "b")];
    await a.join();
    await b.join();
    const { tag } = b.node;
    expect(await a.node.find(tag)).toMatchObject({ name: "b" });
    b.kill();
    await redis.kill();
    await expect.poll(() => a.link.isUp, { interval: 5 }).toBe(false);
    await redis.restart();
    await expect.poll(async () => (await listNodes(new Secret(redis.url))).nodes.length, { timeout: 5000 }).toBe(1);
    // Another heartbeat, whose reply has no other gateway either.
    expect(await a.node.find("none")).toBeUndefined();
    expect(a.node.nodes().map(({ name }) => name)).toEqual(["a", "b"]);
    await expect.poll(() => a.node.nodes().length, { timeout: 10_000 }).toBe(1);
  }, 20_000);

  it("a gateway that has left does not come back because it looks for another", async () => {
    const redis = await start();
    const { node, join } = await open(redis, "a");
    await join();
    await node.leave();
    expect(await node.find("none")).toBeUndefined();
    expect((await listNodes(new Secret(redis.url))).nodes).toEqual([]);
  });

  it("a Redis that was restarted empty knows the gateways again", async () => {
    const redis = await start();
    const [a, b] = [await open(redis, "a"), await open(redis, "b")];
    await a.join();
    await b.join();
    await redis.kill();
    await redis.restart();
    const late = await open(redis, "late");
    await expect.poll(async () => (await late.node.find(a.node.tag))?.name, { timeout: 10_000 }).toBe("a");
  }, 20_000);
});
