import type { Thoughts } from "../../../core/thinking/thoughts.ts";
import { RedisScript } from "../redis-script.ts";
import type { StoreParts } from "./store-parts.ts";
import { DAY_MS, digest, MiB, type RoomLimits, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 32 * MiB, maxItems: 5000, maxValueBytes: 2 * MiB, ttlMs: 7 * DAY_MS };

/** Thoughts of one conversation that are asked for, at most: the last ones. */
const MAX_WANTED = 500;

/** KEYS: thoughts, and pointers to thoughts from the one at ARGV[1] on. Returns id, text and signature of each. */
const FETCH = new RedisScript(`
local found = {}
for at, key in ipairs(KEYS) do
  if at >= tonumber(ARGV[1]) then key = redis.call('GET', key) end
  found[at] = key and redis.call('HMGET', key, 'id', 'text', 'signature') or false
end
return found`);

/** Thinking of all nodes: kept here at once, and in Redis in the background. What is fetched is kept here, too. */
export function createSharedThoughts({ link, writes, packing, scope, limits }: StoreParts, local: Thoughts): Thoughts {
  const room = new ValueRoom(link, [scope, "thought"], { ...LIMITS, ...limits });
  const keyOf = (principalId: string, id: string) => room.key(principalId, digest(id));
  const textKey = (principalId: string, text: string) => room.key(principalId, "text", digest(text));
  const keepRow = async (principalId: string, row: unknown): Promise<void> => {
    if (!Array.isArray(row)) return;
    const [id, packed, signature] = row as readonly unknown[];
    if (!Buffer.isBuffer(id)) return;
    const text = await packing.unpack(packed, keyOf(principalId, id.toString()));
    const signed = Buffer.isBuffer(signature) ? signature.toString() : undefined;
    if (text) local.keep(principalId, id.toString(), { text: text.toString(), signature: signed });
  };
  return {
    find: (principalId, id) => local.find(principalId, id),
    findByText: (principalId, text) => local.findByText(principalId, text),
    keep(principalId, id, thought) {
      local.keep(principalId, id, thought);
      const { text, signature } = thought;
      const key = keyOf(principalId, id);
      writes.add({
        prepare: packing.pack(text, key),
        bytes: text.length,
        write: (client, packed) =>
          room.put(client, {
            principalId,
            key,
            fields: [
              ["id", id],
              ["text", packed],
              ...(signature === undefined ? [] : [["signature", signature] as const]),
            ],
            pointers: { keys: [textKey(principalId, text)], text: key },
          }),
      });
    },
    async fetch(principalId, wanted) {
      const last = wanted.slice(-MAX_WANTED);
      const ids = last.flatMap((one) => ("id" in one ? [keyOf(principalId, one.id)] : []));
      const texts = last.flatMap((one) => ("text" in one ? [textKey(principalId, one.text)] : []));
      const found = await link.askBriefly(
        (client) => FETCH.run(client, [...ids, ...texts], [String(ids.length + 1)]),
        () => undefined,
      );
      for (const row of Array.isArray(found) ? found : []) await keepRow(principalId, row);
    },
  };
}
