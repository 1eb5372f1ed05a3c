import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { addKey } from "../../../src/server/gate/keys/gateway-keys.ts";
import type { OwnNode } from "../support/own-cluster.ts";
import { hasRedis } from "../support/redis-process.ts";
import { clientOf, openSharedCluster, statusOf } from "../support/shared-cluster.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

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
  it("hold 1,000 parallel requests to the budget of their key within a tenth", async () => {
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
    expect(used).toBeLessThanOrEqual(budget * 1.1);
  }, 240_000);
});

const homesOf = (nodes: readonly { readonly home: string }[]): readonly string[] => nodes.map(({ home }) => home);
