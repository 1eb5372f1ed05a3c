import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { addKey } from "../../../src/server/gate/keys/gateway-keys.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import type { Messages } from "../../gateway/support/tool-client.ts";
import { type OwnNode, openOwnCluster } from "../support/own-cluster.ts";
import { hasRedis, type RedisProcess } from "../support/redis-process.ts";
import { clientOf, keyCounter, openSharedCluster, statusOf } from "../support/shared-cluster.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/**
 * Stands between gateways and Redis, and counts what is sent at once: commands that wait for no reply of each other are one
 * round trip. Only those about conversations and limits count.
 */
async function countTrips({ port }: RedisProcess) {
  const isOfTurns = /:(?:checkpoint|response|thought|hub|calls|spend|holds|settled|rate|seats)[:\r]/;
  let trips: string[] = [];
  const proxy = createServer((socket) => {
    const redis = connect(port, "127.0.0.1");
    socket.on("data", (chunk: Buffer) => {
      const text = chunk.toString("latin1");
      if (isOfTurns.test(text)) trips.push(text);
    });
    socket.pipe(redis).pipe(socket);
    for (const end of [socket, redis]) end.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  defer(() => proxy.close());
  const address = proxy.address();
  const url = `redis://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  return {
    url,
    take() {
      const taken = trips;
      trips = [];
      return taken;
    },
  };
}

const usedIn = (homes: readonly string[], column: string): number =>
  Math.max(
    ...homes.map((home) => {
      const record = new DatabaseSync(join(home, "usage.db"), { readOnly: true });
      const sum = record.prepare(`SELECT ${column} AS sum FROM request WHERE key_name = 'alice'`).get()?.["sum"];
      record.close();
      return Number(sum);
    }),
  );

describe.skipIf(!hasRedis)("gateways that share one Redis", () => {
  it("hold 1,000 parallel requests to the budget of their key, but for one reservation a node", async () => {
    const { nodes, at } = await openSharedCluster(defer, ["a", "b", "c"], {
      EXCURSOR_LIMITS_REQUESTS_PER_KEY: "2000",
      EXCURSOR_LIMITS_CONNECTIONS: "5000",
    });
    const budget = 20_000;
    const limits = { usage: [`${budget} tokens/day`] };
    const key = await addKey(at(0).home, "alice", { account: undefined, limits });
    const ask = (node: OwnNode) =>
      statusOf(
        clientOf(node, key.reveal()).chat.completions.create({
          model: "gpt-5.5",
          messages: [{ role: "user", content: `@sim say ${"word ".repeat(40)}` }],
        }),
      );
    for (const node of nodes) await expect.poll(() => ask(node), { timeout: 20_000 }).toBe(200);
    const statuses: (number | undefined)[] = [];
    // Until all are refused because the budget is used up, and not because others are under way.
    while (statuses.length < 1000 || usedIn(homesOf(nodes), "sum(input + output)") < budget) {
      statuses.push(...(await Promise.all(Array.from({ length: 250 }, (_value, index) => ask(at(index))))));
      if (statuses.length >= 5000) break;
    }
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(10);
    expect([...new Set(statuses)].sort()).toEqual([200, 402, 429].filter((status) => statuses.includes(status)));
    // The records of all nodes are in each of them soon.
    const homes = homesOf(nodes);
    await expect.poll(() => usedIn(homes, "count(*)"), { timeout: 20_000 }).toBe(statuses.length + nodes.length);
    const used = usedIn(homes, "sum(input + output)");
    expect(used).toBeGreaterThanOrEqual(budget);
    // At first a request reserves a tenth of the limit.
    expect(used).toBeLessThanOrEqual(budget + (nodes.length * budget) / 10);
  }, 240_000);

  it("ask Redis no more than six times a turn, and never for a token", async () => {
    // What is late on a busy machine would be sent again.
    const cluster = await openOwnCluster(defer, {}, { EXCURSOR_LIMITS_REDIS_MS: "5000" });
    const trips = await countTrips(cluster.redis);
    const count = await keyCounter(cluster.redis, defer);
    const home = mkdtempSync(join(tmpdir(), "excursor-shared-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    const limits = { usage: ["1000000 tokens/day", "$50/total", "1000 requests/minute"], streams: 50 };
    const key = await addKey(home, "alice", { account: undefined, limits });
    const nodes = [
      await cluster.open("a", { EXCURSOR_HOME: home, EXCURSOR_CLUSTER_REDIS: trips.url }),
      await cluster.open("b", { EXCURSOR_CLUSTER_REDIS: trips.url }),
    ] as const;
    const long = `@sim say ${"word ".repeat(300)}`;
    const ask = async (node: OwnNode, messages: Messages) => {
      const client = clientOf(node, key.reveal());
      const stream = await client.chat.completions.create({ model: "gpt-5.5", messages, stream: true });
      let text = "";
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
      return text;
    };
    const settled = () => count("settled:*");
    const shared = () => count("*:checkpoint:*:at:*");
    const messages: Messages = [{ role: "user", content: long }];
    // What a request of this key uses is known afterwards, and so are the scripts.
    for (const node of nodes) {
      for (const turn of [1, 2]) await ask(node, [{ role: "user", content: `${long} ${turn}` }]);
    }
    await expect.poll(async () => [await settled(), await shared()], { timeout: 20_000 }).toEqual([4, 2]);
    const figures: number[] = [];
    // A busy machine makes Redis late, and what is late is sent again. Such turns do not count.
    const isCalm = () => nodes.every(({ log }) => (log().match(/does not reply/g) ?? []).length === flaps(log()));
    const flaps = (text: string) => (text.match(/replies again/g) ?? []).length;
    const failures = () =>
      Promise.all(
        nodes.map(async ({ url }) => {
          const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
          return /redis_failures_total (\d+)/.exec(await metrics.text())?.[1];
        }),
      );
    for (let turn = 1; figures.length < 4 && turn <= 40; turn++) {
      await expect.poll(isCalm, { timeout: 20_000 }).toBe(true);
      const before = await failures();
      trips.take();
      // On the other node each time, so that nothing is known there.
      const content = await ask(nodes[turn % 2 === 0 ? 0 : 1], messages);
      messages.push({ role: "assistant", content }, { role: "user", content: long });
      await expect
        .poll(async () => [await settled(), await shared()], { timeout: 20_000 })
        .toEqual([4 + turn, 2 + turn]);
      const sent = trips.take().length;
      if (String(await failures()) === String(before)) figures.push(sent);
    }
    expect(Math.max(...figures), String(figures)).toBeLessThanOrEqual(6);
    expect(Math.min(...figures)).toBeGreaterThan(2);
  }, 120_000);
});

const homesOf = (nodes: readonly { readonly home: string }[]): readonly string[] => nodes.map(({ home }) => home);
