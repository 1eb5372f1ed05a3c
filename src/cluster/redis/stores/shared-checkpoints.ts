import type { AtOnce } from "../../../core/awaitable.ts";
import type { Checkpoint, CheckpointStore } from "../../../core/history/checkpoints.ts";
import { RedisScript } from "../redis-script.ts";
import type { StoreParts } from "./store-parts.ts";
import { DAY_MS, digest, MiB, type NewValue, type RoomLimits, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 7 * DAY_MS };

/** A checkpoint with more blobs is not shared. */
const MAX_BLOBS = 2000;

/** Conversations whose blobs in Redis are remembered, so that they are not sent again. */
const MAX_REMEMBERED = 1000;

/** How long a checkpoint that was read ahead waits for its turn. */
const PREFETCHED_MS = 1000;
const MAX_PREFETCHED = 1000;

/** KEYS: the pointer from a history to its conversation. ARGV: the history. Returns the state and its blobs, or nothing. */
const FIND = new RedisScript(`
local conversation = redis.call('GET', KEYS[1])
if not conversation then return false end
local head = redis.call('HGET', conversation, 's' .. ARGV[1])
if not head then return false end
local found = redis.call('HMGET', conversation, 'n' .. ARGV[1], 'id')
local values = { head, found[2] or '', found[1] or '' }
for name in string.gmatch(found[1] or '', '[^,]+') do values[#values + 1] = redis.call('HGET', conversation, 'b' .. name) end
return values`);

/**
 * Checkpoints of all nodes. They are written here first and to Redis in the background, and read here first. A conversation
 * is one hash: its states by history, and its blobs, each of which is sent once.
 */
export function createSharedCheckpoints(
  { link, writes, packing, scope, limits }: StoreParts,
  local: AtOnce<CheckpointStore>,
): CheckpointStore {
  const room = new ValueRoom(link, [scope, "checkpoint"], { ...LIMITS, ...limits });
  const sent = new SentBlobs();
  link.onChange(() => sent.forget());
  const pointer = (principalId: string, historyKey: string) => room.key(principalId, "at", digest(historyKey));

  /** Returns undefined if a blob is missing, or something is damaged. */
  const readCheckpoint = async (
    principalId: string,
    historyKey: string,
    [state, id, names, ...data]: readonly unknown[],
  ): Promise<Checkpoint | undefined> => {
    const key = room.key(principalId, digest(String(id)));
    const unpacked = await packing.unpack(state, `${key} ${digest(historyKey)}`);
    const blobNames = String(names)
      .split(",")
      .filter((name) => name !== "");
    const blobs = await Promise.all(data.map((blob, at) => packing.unpack(blob, `${key} ${blobNames[at]}`)));
    if (!unpacked || data.length !== blobNames.length) return undefined;
    const entries = blobNames.flatMap((name, at) => {
      const blob = blobs[at];
      return blob ? [[name, blob] as const] : [];
    });
    if (entries.length !== blobNames.length) return undefined;
    return { conversationId: String(id), state: unpacked, blobs: new Map(entries) };
  };

  const fetch = async (principalId: string, historyKey: string): Promise<Checkpoint | undefined> => {
    const found = await link.askBriefly(
      (client) => FIND.run(client, [pointer(principalId, historyKey)], [digest(historyKey)]),
      () => undefined,
    );
    const checkpoint = Array.isArray(found) ? await readCheckpoint(principalId, historyKey, found) : undefined;
    if (!checkpoint) return undefined;
    local.put(principalId, historyKey, checkpoint);
    sent.add(room.key(principalId, digest(checkpoint.conversationId)), checkpoint.blobs.keys());
    return checkpoint;
  };

  /** Also those that were not found, so that they are not asked for twice. */
  const prefetched = new Map<string, Promise<Checkpoint | undefined>>();

  return {
    find(principalId, historyKey) {
      const place = pointer(principalId, historyKey);
      const ahead = prefetched.get(place);
      prefetched.delete(place);
      return local.find(principalId, historyKey) ?? ahead ?? fetch(principalId, historyKey);
    },
    prefetch(principalId, historyKey) {
      const place = pointer(principalId, historyKey);
      if (prefetched.size >= MAX_PREFETCHED || local.find(principalId, historyKey)) return;
      const ahead = fetch(principalId, historyKey);
      ahead.catch(() => {});
      prefetched.set(place, ahead);
      setTimeout(() => prefetched.get(place) === ahead && prefetched.delete(place), PREFETCHED_MS).unref();
    },
    put(principalId, historyKey, checkpoint) {
      local.put(principalId, historyKey, checkpoint);
      const { conversationId, state, blobs } = checkpoint;
      if (blobs.size > MAX_BLOBS) return;
      const key = room.key(principalId, digest(conversationId));
      const history = digest(historyKey);
      const prepare = async (names: readonly string[]): Promise<NewValue> => {
        const packed = await Promise.all(
          names.map(
            async (name) => [`b${name}`, await packing.pack(blobs.get(name) ?? EMPTY, `${key} ${name}`)] as const,
          ),
        );
        const fields = [
          ["id", conversationId] as const,
          [`s${history}`, await packing.pack(state, `${key} ${history}`)] as const,
          [`n${history}`, [...blobs.keys()].join(",")] as const,
          ...packed,
        ];
        const pointers = { keys: [pointer(principalId, historyKey)], text: key };
        return { principalId, key, fields, pointers };
      };
      const bytes = [...blobs.values()].reduce((sum, { length }) => sum + length, state.length);
      const add = (names: readonly string[], onFull: () => void) =>
        writes.add({
          prepare: prepare(names),
          bytes,
          write: async (client, value) => {
            if (await room.put(client, value)) sent.add(key, blobs.keys());
            else onFull();
          },
        });
      const all = [...blobs.keys()];
      add(
        all.filter((name) => !sent.has(key, name)),
        () => {
          // The conversation has become too large, so it begins again with what it needs now.
          sent.forget(key);
          add(all, () => {});
        },
      );
    },
  };
}

const EMPTY = new Uint8Array();

/** Remembers which blobs of which conversations are in Redis. */
class SentBlobs {
  /** By conversation, oldest first. */
  readonly #names = new Map<string, Set<string>>();

  has(key: string, name: string): boolean {
    return this.#names.get(key)?.has(name) ?? false;
  }

  /** From now on these are the blobs that count; others are no longer needed. */
  add(key: string, names: Iterable<string>): void {
    this.#names.delete(key);
    this.#names.set(key, new Set(names));
    const [oldest] = this.#names.keys();
    if (this.#names.size > MAX_REMEMBERED && oldest !== undefined) this.#names.delete(oldest);
  }

  /** Without a key, forgets all. */
  forget(key?: string): void {
    if (key === undefined) this.#names.clear();
    else this.#names.delete(key);
  }
}
