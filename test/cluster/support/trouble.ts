import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "@redis/client";
import { numbers } from "../../usage/support/mixed-conversations.ts";
import type { ComposedCluster } from "./compose-processes.ts";

/** What can happen to a gateway: killed and started again, without CPU for seconds, stopped and started again. */
export const GATEWAY_TROUBLES = ["kill", "freeze", "restart"] as const;

/**
 * What can happen to Redis: killed and started again with its file, paused, full, a replica, slow, killed and started again
 * empty.
 */
export const REDIS_TROUBLES = ["redis-kill", "redis-pause", "redis-full", "redis-replica", "redis-slow"] as const;
export const REDIS_LOSS = "redis-empty";

export type Trouble = (typeof GATEWAY_TROUBLES)[number] | (typeof REDIS_TROUBLES)[number] | typeof REDIS_LOSS;

/**
 * Makes these troubles at random moments, which the seed decides, in random order. Troubles overlap, but one gateway at least
 * stays up. Resolves when all are over and all gateways are up.
 */
export async function makeTrouble(
  { nodes, redis }: Pick<ComposedCluster, "nodes" | "redis">,
  troubles: readonly Trouble[],
  seed: number,
): Promise<void> {
  const stream = numbers(seed);
  const below = (limit: number) => Math.floor((stream.next().value / 2 ** 31) * limit);
  const up = new Set(nodes);
  /** Does something to a gateway that is up. */
  const toGateway = async (at: number, work: (node: ComposedCluster["nodes"][number]) => Promise<unknown>) => {
    while (up.size < 2) await wait(50);
    const node = [...up][at % up.size];
    if (!node) return;
    up.delete(node);
    await work(node);
    up.add(node);
  };
  let redisWork: Promise<unknown> = Promise.resolve();
  /** Redis has one trouble at a time. */
  const toRedis = (work: () => Promise<unknown>) => {
    redisWork = redisWork.then(work);
    return redisWork;
  };
  const commanded = (forMs: number, begin: readonly string[], end: readonly string[]) =>
    toRedis(async () => {
      const operator = await createClient({ url: redis.url }).connect();
      await operator.sendCommand(begin);
      await wait(forMs);
      await operator.sendCommand(end);
      operator.destroy();
    });
  const killed = (forMs: number, isEmptied: boolean) =>
    toRedis(async () => {
      await redis.kill();
      if (isEmptied) redis.empty();
      await wait(forMs);
      await redis.restart();
    });
  const makers: Readonly<Record<Trouble, (at: number, forMs: number) => Promise<unknown>>> = {
    kill: (at, forMs) =>
      toGateway(at, async (node) => {
        await node.stop("SIGKILL");
        await wait(forMs / 3);
        await node.restart();
      }),
    freeze: (at, forMs) =>
      toGateway(at, async (node) => {
        process.kill(node.pid(), "SIGSTOP");
        await wait(1000 + forMs);
        process.kill(node.pid(), "SIGCONT");
      }),
    restart: (at) =>
      toGateway(at, async (node) => {
        await node.stop("SIGTERM");
        await node.restart();
      }),
    "redis-kill": (_, forMs) => killed(forMs, false),
    "redis-empty": (_, forMs) => killed(forMs, true),
    "redis-pause": (_, forMs) =>
      toRedis(async () => {
        redis.signal("SIGSTOP");
        await wait(forMs);
        redis.signal("SIGCONT");
      }),
    "redis-full": (_, forMs) =>
      commanded(forMs, ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]),
    "redis-replica": (_, forMs) => commanded(forMs, ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]),
    "redis-slow": (_, forMs) =>
      toRedis(async () => {
        const operator = await createClient({ url: redis.url }).connect();
        for (const until = performance.now() + forMs; performance.now() < until; await wait(100)) {
          await operator.sendCommand(["CLIENT", "PAUSE", "70", "ALL"]);
        }
        operator.destroy();
      }),
  };
  const due = [...troubles];
  const underWay: Promise<unknown>[] = [];
  while (due.length > 0) {
    await wait(500 + below(3000));
    const [next] = due.splice(below(due.length), 1);
    if (next) underWay.push(makers[next](below(60), 200 + below(3000)));
  }
  await Promise.all(underWay);
}
