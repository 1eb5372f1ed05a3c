import { expect } from "vitest";
import { type Cluster, openCluster } from "../../../src/cluster/cluster.ts";
import type { Engine } from "../../../src/core/engine/engine.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import type { RedisProcess } from "./redis-process.ts";

const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

/** Opens a gateway's part in a cluster, without the gateway. */
export async function openBareCluster(
  redis: RedisProcess,
  name: string,
  defer: (cleanup: () => unknown) => void,
): Promise<Cluster> {
  const secret = new Secret("the secret of the cluster, long enough");
  const cluster = await openCluster({
    redis: new Secret(redis.url),
    secret,
    name,
    advertise: undefined,
    version: "1",
    log,
  });
  defer(() => cluster.close());
  return cluster;
}

/** Joins with an engine that has only these parts. */
export const joinWith = (cluster: Cluster, parts: Partial<Engine>): Promise<Engine> => {
  const engine: Partial<Engine> = { stats: () => ({ parkedRuns: 0, parkedBytes: 0 }), stopParking: () => {}, ...parts };
  return cluster.join({ engine: engine as Engine, watch: () => expect.unreachable(), route: () => undefined });
};
