import { createHash } from "node:crypto";
import { isGuest } from "../../../core/access/guest.ts";
import type { RedisClient, RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";

export interface RoomLimits {
  /** Bytes of one principal in Redis. Callers with a token share one room of this size. */
  readonly maxBytes: number;
  readonly maxItems: number;
  /** Bytes of one value. A larger one is deleted. */
  readonly maxValueBytes: number;
  readonly ttlMs: number;
}

export interface NewValue {
  readonly principalId: string;
  readonly key: string;
  /** The fields that are added or replaced. */
  readonly fields: readonly (readonly [name: string, value: string | Buffer])[];
  /** More keys, which lead to the value by this text. */
  readonly pointers?: { readonly keys: readonly string[]; readonly text: string };
}

/**
 * A Lua function that adds fields to a hash, and makes room: the oldest values of the room are deleted. Its keys: the hash, the
 * room's order, its sizes (the field of an empty name has the sum), pointers.
 */
export const PUT_VALUE = `
local function putValue(keys, given)
  local ttl, maxBytes, maxItems, maxValue, text = given[1], tonumber(given[2]), tonumber(given[3]), tonumber(given[4]), given[5]
  local value, order, sizes = keys[1], keys[2], keys[3]
  local before = 0
  if redis.call('EXISTS', value) == 1 then before = tonumber(redis.call('HGET', sizes, value) or '0') end
  local counted = tonumber(redis.call('HGET', sizes, value) or '0')
  local size = before
  for at = 6, #given, 2 do size = size + #given[at] + #given[at + 1] - redis.call('HSTRLEN', value, given[at]) end
  local function remove(member)
    local bytes = tonumber(redis.call('HGET', sizes, member) or '0')
    if bytes > 0 then redis.call('HINCRBY', sizes, '', -bytes) end
    redis.call('HDEL', sizes, member)
    redis.call('ZREM', order, member)
    redis.call('UNLINK', member)
  end
  if size > maxValue then
    remove(value)
    return 0
  end
  for at = 6, #given, 2 do redis.call('HSET', value, given[at], given[at + 1]) end
  redis.call('PEXPIRE', value, ttl)
  for at = 4, #keys do redis.call('SET', keys[at], text, 'PX', ttl) end
  local time = redis.call('TIME')
  redis.call('ZADD', order, time[1] * 1000000 + time[2], value)
  redis.call('HSET', sizes, value, size)
  local total = redis.call('HINCRBY', sizes, '', size - counted)
  while total > maxBytes or redis.call('ZCARD', order) > maxItems do
    local oldest = redis.call('ZRANGE', order, 0, 0)[1]
    if oldest == nil or oldest == value then break end
    remove(oldest)
    total = tonumber(redis.call('HGET', sizes, ''))
  end
  redis.call('PEXPIRE', order, ttl)
  redis.call('PEXPIRE', sizes, ttl)
  return 1
end`;

const PUT = new RedisScript(`${PUT_VALUE}
return putValue(KEYS, ARGV)`);

/** KEYS: the hash, the room's order, its sizes. Returns whether the hash was there. */
const REMOVE = new RedisScript(`
local bytes = tonumber(redis.call('HGET', KEYS[3], KEYS[1]) or '0')
if bytes > 0 then redis.call('HINCRBY', KEYS[3], '', -bytes) end
redis.call('HDEL', KEYS[3], KEYS[1])
redis.call('ZREM', KEYS[2], KEYS[1])
return redis.call('UNLINK', KEYS[1])`);

/**
 * Values of one kind in Redis. Each principal has a room of its own, and loses its oldest values if that is full. Anybody
 * can make up tokens, so callers with a token share one room.
 */
export class ValueRoom {
  readonly link: RedisLink;
  readonly ttlMs: number;
  readonly #kind: readonly string[];
  readonly #limits: RoomLimits;

  /** `kind` is a part of the keys. */
  constructor(link: RedisLink, kind: readonly string[], limits: RoomLimits) {
    this.link = link;
    this.#kind = kind;
    this.#limits = limits;
    this.ttlMs = limits.ttlMs;
  }

  /** Returns the key of a value of a principal. */
  key(principalId: string, ...parts: readonly string[]): string {
    return this.link.key(...this.#kind, digest(principalId), ...parts);
  }

  /** Returns whether the value was stored. */
  async put(client: RedisClient, value: NewValue): Promise<boolean> {
    const { keys, given } = this.putParts(value);
    return (await PUT.run(client, keys, given)) === 1;
  }

  /** Returns what a script with {@link PUT_VALUE} needs to put a value. */
  putParts({ principalId, key, fields, pointers }: NewValue): {
    readonly keys: readonly string[];
    readonly given: readonly (string | Buffer)[];
  } {
    const { ttlMs, maxBytes, maxItems, maxValueBytes } = this.#limits;
    const limits = [ttlMs, maxBytes, maxItems, maxValueBytes].map(String);
    return {
      keys: [key, ...this.#room(principalId), ...(pointers?.keys ?? [])],
      given: [...limits, pointers?.text ?? "", ...fields.flat()],
    };
  }

  /** Returns whether there was such a value. */
  async remove(client: RedisClient, principalId: string, key: string): Promise<boolean> {
    return (await REMOVE.run(client, [key, ...this.#room(principalId)], [])) === 1;
  }

  #room(principalId: string): readonly string[] {
    const room = isGuest(principalId) ? "guests" : digest(principalId);
    return [this.link.key(...this.#kind, "room", room), this.link.key(...this.#kind, "sizes", room)];
  }
}

/** Ids may hold anything, and are as long as their makers like. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");

export const MiB = 1024 * 1024;
export const DAY_MS = 86_400_000;
