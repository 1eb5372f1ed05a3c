import { setTimeout as wait } from "node:timers/promises";
import type { CallEntry } from "../core/engine/call-log.ts";
import type { Engine } from "../core/engine/engine.ts";
import { runIdOf } from "../core/engine/run/call-names.ts";
import type { Secret } from "../core/secret.ts";
import type { Log } from "../observe/log.ts";
import { Heartbeat } from "./gateways.ts";
import { openRedisLink, type RedisLink } from "./redis/redis-link.ts";

export interface ClusterOptions {
  readonly redis: Secret;
  readonly name: string;
  /** How long a step of a request waits for Redis. */
  readonly redisMs?: number;
  readonly version: string;
  readonly log: Log;
  /** How long the start waits for Redis. */
  readonly patienceMs?: number | undefined;
  /** Called once if the start has to wait for Redis. */
  readonly onWait?: (() => void) | undefined;
}

/** The figures of a cluster, as one of its gateways sees it. */
interface ClusterView {
  readonly node: string;
  readonly isRedisUp: boolean;
  readonly redisFailures: number;
  /** Follow-ups of runs that this gateway did not hold. */
  readonly replays: number;
}

/** This gateway's part in a cluster. */
export interface Cluster {
  readonly link: RedisLink;
  /** Begins to take part: from now on the runs of the engine end when another gateway has replayed them. */
  join(engine: Pick<Engine, "dropRun" | "stats" | "stopParking">): void;
  /** Takes an entry of the call log. Tells the gateway that holds a run if it is replayed here. */
  readonly onCall: (entry: CallEntry) => void;
  view(): ClusterView;
  /** True if this gateway is about to stop. */
  readonly isDraining: boolean;
  /** Answers new turns for so long, until the balancer has noticed that it is to send no more. No run is parked any more. */
  handOver(ms: number): Promise<void>;
  /** Cuts that time short. */
  endHandOver(): void;
  close(): Promise<void>;
}

/** Connects to the cluster's Redis. Throws errors that name the setting. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { redis, log, name, redisMs, patienceMs, onWait } = options;
  const link = await openRedisLink({ url: redis, log, askMs: redisMs, patienceMs, onWait });
  const handedOver = new AbortController();
  let heartbeat: Heartbeat | undefined;
  let served: Pick<Engine, "stopParking"> | undefined;
  let isDraining = false;
  let replays = 0;
  /** A follow-up with several results has as many entries. */
  let last: string | undefined;
  return {
    link,
    join(engine) {
      served = engine;
      link.onNews("ended", ({ principalId, id }) => engine.dropRun(id, principalId));
      heartbeat = new Heartbeat({ ...options, link }, () => ({
        isDraining,
        parkedRuns: engine.stats().parkedRuns,
        replays,
      }));
    },
    onCall({ type, reason, callId, principalId, requestId }) {
      const id = runIdOf(callId);
      if (type !== "replayed" || reason !== "unknown" || id === undefined || last === `${requestId} ${id}`) return;
      last = `${requestId} ${id}`;
      replays++;
      link.tell({ type: "ended", principalId, id });
    },
    view: () => ({ node: name, isRedisUp: link.isUp, redisFailures: link.failures, replays }),
    get isDraining() {
      return isDraining;
    },
    async handOver(ms) {
      isDraining = true;
      served?.stopParking();
      void heartbeat?.beat();
      await wait(ms, undefined, { signal: handedOver.signal }).catch(() => {});
    },
    endHandOver: () => handedOver.abort(),
    async close() {
      await heartbeat?.close();
      link.close();
    },
  };
}
