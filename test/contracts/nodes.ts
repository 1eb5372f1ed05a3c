import { Packing } from "../../src/cluster/redis/packing.ts";
import { openRedisLink, type RedisLink } from "../../src/cluster/redis/redis-link.ts";
import { createSharedCheckpoints } from "../../src/cluster/redis/stores/shared-checkpoints.ts";
import { createSharedHubAnswers } from "../../src/cluster/redis/stores/shared-hub-answers.ts";
import { createSharedResponses } from "../../src/cluster/redis/stores/shared-responses.ts";
import { createSharedThoughts } from "../../src/cluster/redis/stores/shared-thoughts.ts";
import { WriteBehind } from "../../src/cluster/redis/write-behind.ts";
import type { CheckpointStore } from "../../src/core/history/checkpoints.ts";
import type { ResponseStore } from "../../src/core/history/stored-responses.ts";
import type { HubAnswers } from "../../src/core/hub/hub-answers.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Thoughts } from "../../src/core/thinking/thoughts.ts";
import { createLog } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { createCheckpointStore } from "../../src/state/checkpoint-store.ts";
import { createHubAnswerStore } from "../../src/state/hub-answer-store.ts";
import { createResponseStore } from "../../src/state/response-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { createThoughtStore } from "../../src/state/thought-store.ts";
import { type RedisProcess, startRedis } from "../cluster/support/redis-process.ts";

type Defer = (cleanup: () => unknown) => void;

/** The stores of one gateway. */
export interface NodeStores {
  readonly checkpoints: CheckpointStore;
  readonly responses: ResponseStore;
  readonly thoughts: Thoughts;
  readonly hubAnswers: HubAnswers;
  /** Resolves when other nodes can see what was written. */
  settled(): Promise<void>;
}

/** Opens gateways that share their state. */
export interface Nodes {
  open(): Promise<NodeStores>;
}

/** Several processes with one state file. */
export async function sqliteNodes(defer: Defer): Promise<Nodes> {
  const state = await openStateDatabase(":memory:");
  defer(() => state.close());
  return {
    open: async () => ({
      checkpoints: createCheckpointStore(state),
      responses: createResponseStore(state),
      thoughts: createThoughtStore(state),
      hubAnswers: createHubAnswerStore(state),
      settled: async () => {},
    }),
  };
}

const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

/** A busy machine makes Redis late, which is another test. */
const PATIENT_MS = 2000;

/** Opens a link of its own, as each process has one. */
export async function openLink({ url }: Pick<RedisProcess, "url">, defer: Defer) {
  const link = await openRedisLink({ url: new Secret(url), log, askMs: PATIENT_MS });
  defer(() => link.close());
  return link;
}

export interface RedisNodes extends Nodes {
  readonly redis: RedisProcess;
  open(): Promise<NodeStores & { readonly link: RedisLink }>;
}

/** Gateways with a state file each, and one Redis. */
export async function redisNodes(defer: Defer): Promise<RedisNodes> {
  const redis = await startRedis(defer);
  return {
    redis,
    async open() {
      const link = await openLink(redis, defer);
      const state = await openStateDatabase(":memory:");
      const writes = new WriteBehind(link);
      const parts = { link, writes, packing: new Packing(new Secret("the cluster's secret"), "values"), scope: "sim" };
      defer(() => {
        writes.close();
        state.close();
      });
      return {
        link,
        checkpoints: createSharedCheckpoints(parts, createCheckpointStore(state)),
        responses: createSharedResponses(parts, createResponseStore(state)),
        thoughts: createSharedThoughts(parts, createThoughtStore(state)),
        hubAnswers: createSharedHubAnswers(parts, createHubAnswerStore(state)),
        settled: () => writes.settled(),
      };
    },
  };
}
