import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { shareKeys } from "../../src/app/cluster/share-keys.ts";
import { RedisCounts } from "../../src/cluster/redis/limits/redis-counts.ts";
import { openRedisLink, type RedisLink } from "../../src/cluster/redis/redis-link.ts";
import { createSharedCheckpoints } from "../../src/cluster/redis/stores/shared-checkpoints.ts";
import { createSharedHubAnswers } from "../../src/cluster/redis/stores/shared-hub-answers.ts";
import { createSharedResponses } from "../../src/cluster/redis/stores/shared-responses.ts";
import { createSharedThoughts } from "../../src/cluster/redis/stores/shared-thoughts.ts";
import { UsageStream } from "../../src/cluster/redis/usage/usage-stream.ts";
import { WriteBehind } from "../../src/cluster/redis/write-behind.ts";
import type { CheckpointStore } from "../../src/core/history/checkpoints.ts";
import type { ResponseStore } from "../../src/core/history/stored-responses.ts";
import type { HubAnswers } from "../../src/core/hub/hub-answers.ts";
import { parseLimit } from "../../src/core/limits/limit.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Thoughts } from "../../src/core/thinking/thoughts.ts";
import { createLog } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { createCheckpointStore } from "../../src/state/checkpoint-store.ts";
import { createHubAnswerStore } from "../../src/state/hub-answer-store.ts";
import { createResponseStore } from "../../src/state/response-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { createThoughtStore } from "../../src/state/thought-store.ts";
import { HeldClock } from "../../src/usage/limits/held-clock.ts";
import type { SharedCounts } from "../../src/usage/limits/shared-counts.ts";
import { UsageLimits } from "../../src/usage/limits/usage-limits.ts";
import type { UsageSink } from "../../src/usage/record/records.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { type RedisProcess, startRedis } from "../cluster/support/redis-process.ts";

type Defer = (cleanup: () => unknown) => void;

/** The stores of one gateway. */
export interface NodeStores {
  readonly checkpoints: CheckpointStore;
  readonly responses: ResponseStore;
  readonly thoughts: Thoughts;
  readonly hubAnswers: HubAnswers;
  /** The folder of its issued keys. */
  readonly home: string;
  readonly usage: UsageStore;
  /** Where requests are recorded. */
  readonly sinks: readonly UsageSink[];
  /** Those of a key with {@link DAY_LIMIT}. */
  readonly limits: UsageLimits;
  /** Resolves when other nodes can see what was written. */
  settled(): Promise<void>;
}

/** Opens gateways that share their state. */
export interface Nodes {
  open(): Promise<NodeStores>;
}

const DAY_LIMIT = "1000 tokens/day";

function makeHome(defer: Defer): string {
  const home = mkdtempSync(join(tmpdir(), "excursor-contract-"));
  defer(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function openUsage(home: string, defer: Defer): Promise<UsageStore> {
  const connection = await openUsageDatabase(join(home, "usage.db"), expect.unreachable);
  const store = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, onNotice: expect.unreachable });
  defer(() => store.close());
  return store;
}

const createLimits = (store: UsageStore, shared?: SharedCounts): UsageLimits =>
  new UsageLimits({
    limitsOf: () => [parseLimit(DAY_LIMIT) ?? expect.unreachable()],
    spent: (...window) => store.spent(...window),
    spentInMinute: (...window) => store.spentInMinute(...window),
    spentIn: (...asked) => store.spentIn(...asked),
    usual: () => undefined,
    costOf: () => 0,
    clock: new HeldClock(),
    liftedAt: (id) => store.liftedAt(id),
    shared,
  });

/** Several processes with one home folder. */
export async function sqliteNodes(defer: Defer): Promise<Nodes> {
  const home = makeHome(defer);
  const state = await openStateDatabase(":memory:");
  defer(() => state.close());
  return {
    async open() {
      const usage = await openUsage(home, defer);
      return {
        checkpoints: createCheckpointStore(state),
        responses: createResponseStore(state),
        thoughts: createThoughtStore(state),
        hubAnswers: createHubAnswerStore(state),
        home,
        usage,
        sinks: [usage],
        limits: createLimits(usage),
        settled: async () => void usage.flush(),
      };
    },
  };
}

const silent = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

/** A busy machine makes Redis late, which is another test. */
const PATIENT_MS = 2000;

/** Opens a link of its own, as each process has one. */
export async function openLink({ url }: Pick<RedisProcess, "url">, defer: Defer, log = silent) {
  const link = await openRedisLink({ url: new Secret(url), log, askMs: PATIENT_MS });
  defer(() => link.close());
  return link;
}

export interface RedisNodes extends Nodes {
  readonly redis: RedisProcess;
  open(): Promise<NodeStores & { readonly link: RedisLink }>;
}

/** Long enough for no test to see it: nodes look for changes when they are told to. */
const NEVER_MS = 3_600_000;

/** Gateways with a home folder each, and one Redis. */
export async function redisNodes(defer: Defer): Promise<RedisNodes> {
  const redis = await startRedis(defer);
  /** What each node does to see what the others have written. */
  const looks: (() => Promise<void>)[] = [];
  return {
    redis,
    async open() {
      const link = await openLink(redis, defer);
      const home = makeHome(defer);
      const state = await openStateDatabase(":memory:");
      const usage = await openUsage(home, defer);
      const writes = new WriteBehind(link);
      const parts = { link, writes, scope: "sim", redisMs: PATIENT_MS };
      const counts = new RedisCounts({ link, writes });
      const stream = new UsageStream({ link, writes, store: usage, intervalMs: NEVER_MS });
      const keys = await shareKeys(link, home, silent);
      const look = async () => {
        if (!link.isUp) return;
        // Twice: one that is under way may have begun before the change.
        for (let time = 0; time < 2; time++) await Promise.all([keys.sync(), stream.read()]);
      };
      looks.push(look);
      defer(async () => {
        looks.splice(looks.indexOf(look), 1);
        keys.close();
        counts.close();
        await stream.close();
        writes.close();
        state.close();
      });
      return {
        link,
        checkpoints: createSharedCheckpoints(parts, createCheckpointStore(state)),
        responses: createSharedResponses(parts, createResponseStore(state)),
        thoughts: createSharedThoughts(parts, createThoughtStore(state)),
        hubAnswers: createSharedHubAnswers(parts, createHubAnswerStore(state)),
        home,
        usage,
        sinks: [usage, stream],
        limits: createLimits(usage, counts),
        async settled() {
          usage.flush();
          stream.flush();
          await look();
          await writes.settled();
          for (const other of looks) await other();
        },
      };
    },
  };
}
