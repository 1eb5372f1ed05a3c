import { afterEach, describe, expect, it } from "vitest";
import { type Cluster, openCluster } from "../../src/cluster/cluster.ts";
import type { Engine } from "../../src/core/engine/engine.ts";
import { callIdOf, newRunId } from "../../src/core/engine/run/call-names.ts";
import { LimitReached } from "../../src/core/limits/limit-reached.ts";
import { Secret } from "../../src/core/secret.ts";
import { createLog } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { aTurn } from "../core/support/turns.ts";
import { hasRedis, type RedisProcess, startRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

async function open(redis: RedisProcess, name: string): Promise<Cluster> {
  const secret = new Secret("the secret of the cluster, long enough");
  const cluster = await openCluster({
    redis: new Secret(redis.url),
    secret,
    name,
    advertise: undefined,
    version: "1",
    log,
  });
  cleanups.push(() => cluster.close());
  return cluster;
}

const engineWith = (refuse: Engine["refuse"]): Engine =>
  ({ refuse, stats: () => ({ parkedRuns: 0 }), stopParking: () => {} }) as Partial<Engine> as Engine;

const join = (cluster: Cluster, engine: Engine): Promise<Engine> =>
  cluster.join({ engine, watch: () => expect.unreachable(), route: () => undefined });

/** Both ends of a connection are in this process. */
const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

describe.skipIf(!hasRedis)("follow-ups that a limit refuses at another gateway", () => {
  it("are told to the home node, and leave no connection behind (SEC-36)", async () => {
    const redis = await startRedis((cleanup) => cleanups.push(cleanup));
    const [home, other] = [await open(redis, "home"), await open(redis, "other")];
    let refused = 0;
    await join(
      home,
      engineWith(() => refused++),
    );
    const engine = await join(
      other,
      engineWith(() => expect.unreachable()),
    );
    const observer = {
      phase: () => {},
      served: () => {
        throw new LimitReached("enough", false, {});
      },
    };
    const refuse = async () => {
      const callId = callIdOf(newRunId(home.tag), 0);
      const turn = aTurn({ messages: [{ role: "tool", callId, content: [], isError: false }] });
      const context = { requestId: "r", signal: new AbortController().signal, observer };
      const answer = engine.run(turn, context)[Symbol.asyncIterator]();
      await expect(answer.next()).rejects.toThrow("enough");
    };
    await refuse();
    await expect.poll(() => refused).toBe(1);
    const before = countSockets();
    for (let count = 2; count <= 20; count++) {
      await refuse();
      await expect.poll(() => refused, { interval: 5 }).toBe(count);
    }
    expect(countSockets() - before).toBeLessThan(10);
    // A home node that stops waits for no exchange.
    await home.finish(600_000);
  });
});
