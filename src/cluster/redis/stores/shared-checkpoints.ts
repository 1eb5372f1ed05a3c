import type { AtOnce } from "../../../core/awaitable.ts";
import { BoundedMap } from "../../../core/bounded-map.ts";
import type { Checkpoint, CheckpointStore } from "../../../core/history/checkpoints.ts";
import { RedisScript } from "../redis-script.ts";
import { DAY_MS, digest, MiB, type RoomLimits, type StoreParts, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 7 * DAY_MS };

/** A checkpoint with more blobs is not shared. */
const MAX_BLOBS = 2000;

/** Conversations whose blobs in Redis are remembered, so that they are not sent again. */
const MAX_REMEMBERED = 1000;

/** KEYS: the pointer from a history to its conversation. ARGV: the history. Returns what belongs to it. */
const FIND = new RedisScript(`
local key = redis.call('GET', KEYS[1])
if not key then return false end
local head = redis.call('HMGET', key, 'id', 's' .. ARGV[1], 'n' .. ARGV[1])
local values = { key, head[1] or '', head[2] or '', head[3] or '' }
-- Before the names is a checksum of four bytes.
for name in string.gmatch(string.sub(head[3] or '', 5), '[^,]+') do
  values[#values + 1] = redis.call('HGET', key, 'b' .. name) or ''
end
return values`);

/**
 * Checkpoints of all gateways. They are written here first and to Redis in the background, and read here first. A conversation
 * is one hash: its states by history, and its blobs, each of which is sent once.
 */
export function createSharedCheckpoints(
  { link, writes, scope, limits }: StoreParts,
  local: AtOnce<CheckpointStore>,
): CheckpointStore {
  const room = new ValueRoom(link, [scope, "checkpoint"], { ...LIMITS, ...limits });
  /** The names of the blobs that Redis has of a conversation and that count now. */
  const sent = new BoundedMap<string, ReadonlySet<string>>(MAX_REMEMBERED);
  link.onChange(() => sent.clear());
  const pointerTo = (principalId: string, historyKey: string) => room.key(principalId, "at", digest(historyKey));

  const read = async (principalId: string, historyKey: string): Promise<Checkpoint | undefined> => {
    const history = digest(historyKey);
    const pointer = pointerTo(principalId, historyKey);
    const reply = await link.ask(
      (client) => FIND.run(client, [pointer], [history]),
      () => undefined,
    );
    const [key, id, state, names, ...found] = (Array.isArray(reply) ? reply : []) as readonly Buffer[];
    const place = `${String(key)} ${history}`;
    const opened = room.open(`${place} state`, state);
    const blobNames = room
      .open(`${place} names`, names)
      ?.toString()
      .split(",")
      .filter((name) => name !== "");
    if (!id || !opened || !blobNames) return undefined;
    const blobs = new Map<string, Uint8Array>();
    for (const [at, name] of blobNames.entries()) {
      const blob = room.open(name, found[at]);
      if (!blob) return undefined;
      blobs.set(name, blob);
    }
    return { conversationId: id.toString(), state: opened, blobs };
  };

  const fetch = async (principalId: string, historyKey: string): Promise<Checkpoint | undefined> => {
    const checkpoint = await read(principalId, historyKey);
    if (!checkpoint) return undefined;
    local.put(principalId, historyKey, checkpoint);
    sent.set(room.key(principalId, digest(checkpoint.conversationId)), new Set(checkpoint.blobs.keys()));
    return checkpoint;
  };

  return {
    find: (principalId, historyKey) => local.find(principalId, historyKey) ?? fetch(principalId, historyKey),
    forget(principalId, historyKey) {
      local.forget(principalId, historyKey);
      void writes.add({ bytes: 0, write: (client) => client.del(pointerTo(principalId, historyKey)) });
    },
    put(principalId, historyKey, checkpoint) {
      local.put(principalId, historyKey, checkpoint);
      const { conversationId, state, blobs } = checkpoint;
      if (blobs.size > MAX_BLOBS) return;
      const key = room.key(principalId, digest(conversationId));
      const history = digest(historyKey);
      const place = `${key} ${history}`;
      const names = [...blobs.keys()];
      const add = (isNew: (name: string) => boolean, onLarge: () => void) => {
        const added = [...blobs].filter(([name]) => isNew(name));
        const bytes = added.reduce((sum, [, { length }]) => sum + length, state.length);
        void writes.add({
          bytes,
          write: async (client) => {
            const fields = [
              ["id", conversationId] as const,
              [`s${history}`, room.seal(`${place} state`, state)] as const,
              [`n${history}`, room.seal(`${place} names`, names.join(","))] as const,
              ...added.map(([name, blob]) => [`b${name}`, room.seal(name, blob)] as const),
            ];
            const pointers = [pointerTo(principalId, historyKey)];
            if ((await room.put(client, { principalId, key, fields, pointers })) === "put")
              sent.set(key, new Set(names));
            else onLarge();
          },
        });
      };
      add(
        (name) => !sent.get(key)?.has(name),
        () => {
          // The conversation has become too large, so it begins again with what it needs now.
          sent.delete(key);
          add(
            () => true,
            () => {},
          );
        },
      );
    },
  };
}
