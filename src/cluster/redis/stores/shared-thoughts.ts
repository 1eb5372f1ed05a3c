import type { Thoughts } from "../../../core/thinking/thoughts.ts";
import { inBinary } from "../redis-script.ts";
import { DAY_MS, digest, MiB, type RoomLimits, type StoreParts, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 32 * MiB, maxItems: 5000, maxValueBytes: 2 * MiB, ttlMs: 7 * DAY_MS };

/** Thoughts of one conversation that are asked for, at most: the last ones. */
const MAX_WANTED = 500;

/** Thinking of all gateways: kept here at once, and in Redis in the background. What is fetched is kept here, too. */
export function createSharedThoughts({ link, writes, scope, limits }: StoreParts, local: Thoughts): Thoughts {
  const room = new ValueRoom(link, [scope, "thought"], { ...LIMITS, ...limits });
  const keyOf = (principalId: string, id: string) => room.key(principalId, digest(id));
  const textKey = (principalId: string, text: string) => room.key(principalId, "text", digest(text));
  return {
    find: (principalId, id) => local.find(principalId, id),
    findByText: (principalId, text) => local.findByText(principalId, text),
    keep(principalId, id, thought) {
      local.keep(principalId, id, thought);
      const { text, signature } = thought;
      const key = keyOf(principalId, id);
      void writes.add({
        bytes: text.length,
        write: (client) =>
          room.put(client, {
            principalId,
            key,
            fields: [["thought", room.seal(key, JSON.stringify({ id, text, signature }))]],
            pointers: [textKey(principalId, text)],
          }),
      });
    },
    async fetch(principalId, wanted) {
      const last = wanted.slice(-MAX_WANTED);
      const found = await link.ask(
        async (client) => {
          const keys = last.map((one) =>
            "id" in one ? keyOf(principalId, one.id) : client.get(textKey(principalId, one.text)),
          );
          const known = (await Promise.all(keys)).filter((key) => typeof key === "string");
          return Promise.all(known.map(async (key) => [key, await inBinary(client).hGet(key, "thought")] as const));
        },
        () => [],
      );
      for (const [key, sealed] of found) {
        const thought = room.parse(room.open(key, sealed ?? undefined), readThought);
        if (thought) local.keep(principalId, thought.id, thought);
      }
    },
  };
}

function readThought(json: string) {
  const { id, text, signature } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof text !== "string") throw new TypeError("It is no thought.");
  return { id, text, signature: typeof signature === "string" ? signature : undefined };
}
