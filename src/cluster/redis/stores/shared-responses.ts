import type { AtOnce } from "../../../core/awaitable.ts";
import type { ResponseStore, StoredResponse } from "../../../core/history/stored-responses.ts";
import { RedisScript } from "../redis-script.ts";
import type { StoreParts } from "./store-parts.ts";
import { DAY_MS, digest, MiB, type RoomLimits, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 30 * DAY_MS };

/** Items of one answer that are found by their own id, at most: the last ones. */
const MAX_ITEMS = 256;

/** The longest chain of answers that is followed. A longer one is probably a cycle. */
const MAX_CONVERSATION = 10_000;

const DELETED = "deleted";

/**
 * KEYS: an answer. ARGV: how long it lives, how far to follow. Returns the conversation, last answer first, and keeps it
 * alive; nothing if a part is missing; the word `deleted` if one was deleted.
 */
const CONVERSATION = new RedisScript(`
local found, key = {}, KEYS[1]
for step = 1, tonumber(ARGV[2]) do
  local row = redis.call('HMGET', key, 'deleted', 'data', 'previous')
  if row[1] then return '${DELETED}' end
  if not row[2] then return false end
  redis.call('PEXPIRE', key, ARGV[1])
  found[step] = row[2]
  if row[3] == '' then return found end
  key = row[3]
end
return false`);

/** KEYS: the pointer from an item to its answer. Returns the answer. */
const BY_ITEM = new RedisScript(`
local key = redis.call('GET', KEYS[1])
if not key then return false end
local row = redis.call('HMGET', key, 'deleted', 'data')
if row[1] then return '${DELETED}' end
return row[2]`);

/** KEYS: an answer. */
const BY_ID = new RedisScript(`
local row = redis.call('HMGET', KEYS[1], 'deleted', 'data')
if row[1] then return '${DELETED}' end
return row[2]`);

type Found = "missing" | "deleted" | readonly StoredResponse[];

/**
 * Kept answers of all nodes. They are written here at once and to Redis in the background. Redis is read first, since only
 * it knows what another node has deleted.
 */
export function createSharedResponses(
  { link, writes, packing, scope, limits }: StoreParts,
  local: AtOnce<ResponseStore>,
): ResponseStore {
  const room = new ValueRoom(link, [scope, "response"], { ...LIMITS, ...limits });
  const keyOf = (principalId: string, id: string) => room.key(principalId, digest(id));
  const itemKey = (principalId: string, id: string) => room.key(principalId, "item", digest(id));

  const read = async (script: RedisScript, principalId: string, key: string): Promise<Found> => {
    const reply = await link.askBriefly(
      (client) => script.run(client, [key], [String(room.ttlMs), String(MAX_CONVERSATION)]),
      () => undefined,
    );
    const values = Array.isArray(reply) ? reply : [reply];
    if (Buffer.isBuffer(reply) && reply.toString() === DELETED) return "deleted";
    const unpacked = await Promise.all(values.map((value) => packing.unpack(value, digest(principalId))));
    const found = unpacked.flatMap((json) => (json ? [JSON.parse(json.toString()) as StoredResponse] : []));
    return found.length === values.length ? found : "missing";
  };

  return {
    put(principalId, response) {
      local.put(principalId, response);
      const { id, previousId, input, output, body } = response;
      const key = keyOf(principalId, id);
      const items = [...input, ...output];
      writes.add({
        prepare: packing.pack(JSON.stringify(response), digest(principalId)),
        bytes: items.reduce((sum, { json }) => sum + json.length, body.length),
        write: (client, data) =>
          room.put(client, {
            principalId,
            key,
            fields: [
              ["data", data],
              ["previous", previousId === undefined ? "" : keyOf(principalId, previousId)],
            ],
            pointers: { keys: items.slice(-MAX_ITEMS).map((item) => itemKey(principalId, item.id)), text: key },
          }),
      });
    },
    async find(principalId, id) {
      const found = await read(BY_ID, principalId, keyOf(principalId, id));
      if (found === "deleted") return undefined;
      return found === "missing" ? local.find(principalId, id) : found[0];
    },
    async conversation(principalId, id) {
      const found = await read(CONVERSATION, principalId, keyOf(principalId, id));
      if (found === "deleted") return undefined;
      if (found === "missing") return local.conversation(principalId, id);
      return found.toReversed().flatMap(({ input, output }) => [...input, ...output].map(({ json }) => json));
    },
    async findItem(principalId, itemId) {
      const found = await read(BY_ITEM, principalId, itemKey(principalId, itemId));
      if (found === "deleted") return undefined;
      if (found === "missing") return local.findItem(principalId, itemId);
      return found.flatMap(({ input, output }) => [...input, ...output]).findLast(({ id }) => id === itemId)?.json;
    },
    /** A mark stays in the place of the answer, so that no node finds its own copy. */
    async delete(principalId, id) {
      // What waits to be written would bring it back.
      await writes.settled();
      const found = await read(BY_ID, principalId, keyOf(principalId, id));
      const wasLocal = local.delete(principalId, id);
      if (found === "deleted") return false;
      if (found === "missing" && !wasLocal) return false;
      const key = keyOf(principalId, id);
      writes.add({
        prepare: Promise.resolve(),
        bytes: key.length,
        write: async (client) => {
          await room.remove(client, principalId, key);
          await room.put(client, { principalId, key, fields: [["deleted", "1"]] });
        },
      });
      await writes.settled();
      return true;
    },
  };
}
