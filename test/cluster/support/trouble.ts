import { numbers } from "../../usage/support/mixed-conversations.ts";
import type { ComposedCluster } from "./compose-processes.ts";

/** How often each thing happens. */
export interface Troubles {
  /** A gateway is killed with SIGKILL and started again. */
  readonly kills: number;
  /** Redis is paused with SIGSTOP. */
  readonly pauses: number;
  /** Redis is killed with SIGKILL and started again, empty. */
  readonly losses: number;
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Makes trouble at random moments, which the seed decides. Troubles overlap, but one of three gateways at least stays up. Resolves
 * when all are over and all gateways are up.
 */
export async function makeTrouble(
  { nodes, redis }: ComposedCluster,
  { kills, pauses, losses }: Troubles,
  seed: number,
): Promise<void> {
  const stream = numbers(seed);
  const below = (limit: number) => Math.floor((stream.next().value / 2 ** 31) * limit);
  let redisWork: Promise<unknown> = Promise.resolve();
  /** Redis has one trouble at a time. */
  const onRedis = (work: () => Promise<unknown>) => {
    redisWork = redisWork.then(work);
    return redisWork;
  };
  const up = new Set(nodes);
  const kill = async (at: number, forMs: number) => {
    while (up.size < 2) await wait(50);
    const node = [...up][at % up.size];
    if (!node) return;
    up.delete(node);
    await node.stop("SIGKILL");
    await wait(forMs);
    await node.restart();
    up.add(node);
  };
  const pause = (forMs: number) =>
    onRedis(async () => {
      redis.signal("SIGSTOP");
      await wait(forMs);
      redis.signal("SIGCONT");
    });
  const lose = (forMs: number) =>
    onRedis(async () => {
      await redis.kill();
      await wait(forMs);
      await redis.restart();
    });
  const due = [
    ...Array.from({ length: kills }, () => () => kill(below(60), below(1000))),
    ...Array.from({ length: pauses }, () => () => pause(200 + below(3000))),
    ...Array.from({ length: losses }, () => () => lose(below(3000))),
  ];
  const underWay: Promise<unknown>[] = [];
  while (due.length > 0) {
    await wait(500 + below(3000));
    const [next] = due.splice(below(due.length), 1);
    if (next) underWay.push(next());
  }
  await Promise.all(underWay);
}
