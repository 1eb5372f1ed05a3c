import type { RedisLink } from "../redis-link.ts";
import type { WriteBehind } from "../write-behind.ts";
import { DAY_MS } from "./value-room.ts";

/** Ids of tool calls that all nodes remember. Their key is a digest that contains the principal. */
export interface CallIds {
  keep(conversation: string, ids: readonly string[]): void;
  find(conversations: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** Answers of one conversation that are asked for, at most: the last ones. */
const MAX_ASKED = 500;

const MAX_BYTES = 64 * 1024;

/** `face` keeps the faces apart, since each has its own way to remember. */
export function createSharedCallIds(link: RedisLink, writes: WriteBehind, face: string): CallIds {
  const keyOf = (conversation: string) => link.key("calls", face, conversation);
  return {
    keep(conversation, ids) {
      const value = JSON.stringify(ids);
      if (value.length > MAX_BYTES) return;
      writes.add({
        prepare: Promise.resolve(),
        bytes: value.length,
        write: (client) => client.set(keyOf(conversation), value, { expiration: { type: "PX", value: DAY_MS } }),
      });
    },
    async find(conversations) {
      const asked = conversations.slice(-MAX_ASKED);
      const found = await link.askBriefly<readonly (string | null)[]>(
        (client) => client.mGet(asked.map(keyOf)),
        () => [],
      );
      return new Map(
        asked.flatMap((conversation, at) => {
          const ids = found[at];
          return typeof ids === "string" ? [[conversation, JSON.parse(ids) as readonly string[]] as const] : [];
        }),
      );
    },
  };
}
