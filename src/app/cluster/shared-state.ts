import { createHash } from "node:crypto";
import type { Cluster } from "../../cluster/cluster.ts";
import { createKnownMessages } from "../../cluster/redis/known-messages.ts";
import { RedisCounts } from "../../cluster/redis/limits/redis-counts.ts";
import { RedisRequestCounter } from "../../cluster/redis/limits/redis-request-counter.ts";
import { createSharedCheckpoints } from "../../cluster/redis/stores/shared-checkpoints.ts";
import { createSharedHubAnswers } from "../../cluster/redis/stores/shared-hub-answers.ts";
import { createSharedResponses } from "../../cluster/redis/stores/shared-responses.ts";
import { createSharedThoughts } from "../../cluster/redis/stores/shared-thoughts.ts";
import type { StoreParts } from "../../cluster/redis/stores/value-room.ts";
import { UsageStream } from "../../cluster/redis/usage/usage-stream.ts";
import { WriteBehind } from "../../cluster/redis/write-behind.ts";
import type { CheckpointStore } from "../../core/history/checkpoints.ts";
import type { SentCalls } from "../../core/history/sent-calls.ts";
import type { ResponseStore } from "../../core/history/stored-responses.ts";
import type { HubAnswers } from "../../core/hub/hub-answers.ts";
import type { Thoughts } from "../../core/thinking/thoughts.ts";
import { createCheckpointStore } from "../../state/checkpoint-store.ts";
import { createHubAnswerStore } from "../../state/hub-answer-store.ts";
import { createResponseStore } from "../../state/response-store.ts";
import { createSentCallStore } from "../../state/sent-call-store.ts";
import type { StateDatabase } from "../../state/state-database.ts";
import { createThoughtStore } from "../../state/thought-store.ts";
import type { UsageStore } from "../../usage/store/usage-store.ts";

/** The state that conversations need. */
export interface ConversationStores {
  readonly checkpoints: CheckpointStore;
  readonly responses: ResponseStore;
  readonly thoughts: Thoughts;
  readonly hubAnswers: HubAnswers;
  /** Each gateway knows the calls that it gave to clients. */
  readonly sentCalls: SentCalls;
}

/** What the gateways of a cluster have together. */
export interface SharedState extends ConversationStores {
  readonly requests: RedisRequestCounter;
  readonly counts: RedisCounts;
  readonly messages: ReturnType<typeof createKnownMessages>;
  /** Sends the records of this store to the other gateways, and writes theirs to it. To be closed before the store. */
  followUsage(store: UsageStore): UsageStream;
  /** Resolves when everything is sent, or Redis is away. */
  close(): Promise<void>;
}

/** Opens the state of a gateway that is alone. */
export const openOwnState = (state: StateDatabase): ConversationStores => ({
  checkpoints: createCheckpointStore(state),
  responses: createResponseStore(state),
  thoughts: createThoughtStore(state),
  hubAnswers: createHubAnswerStore(state),
  sentCalls: createSentCallStore(state),
});

/** Opens the state that a gateway shares with its cluster. `origin` is the backend, which keeps states apart. */
export function openSharedState(
  { link }: Pick<Cluster, "link">,
  state: StateDatabase,
  { origin, redisMs }: { readonly origin: string } & Pick<StoreParts, "redisMs">,
): SharedState {
  const writes = new WriteBehind(link);
  const scope = createHash("sha256").update(origin).digest("hex").slice(0, 8);
  const parts: StoreParts = { link, writes, scope, redisMs };
  const counts = new RedisCounts({ link, writes });
  return {
    checkpoints: createSharedCheckpoints(parts, createCheckpointStore(state)),
    responses: createSharedResponses(parts, createResponseStore(state)),
    thoughts: createSharedThoughts(parts, createThoughtStore(state)),
    hubAnswers: createSharedHubAnswers(parts, createHubAnswerStore(state)),
    sentCalls: createSentCallStore(state),
    messages: createKnownMessages(link),
    requests: new RedisRequestCounter(link),
    counts,
    followUsage: (store) => new UsageStream({ link, writes, store }),
    async close() {
      counts.close();
      await writes.settled();
      writes.close();
    },
  };
}
