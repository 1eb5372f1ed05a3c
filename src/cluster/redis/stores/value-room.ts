import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { isGuest } from "../../../core/access/guest.ts";
import type { RedisClient, RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import type { WriteBehind } from "../write-behind.ts";

/** What every store in Redis needs. */
export interface StoreParts {
  readonly link: RedisLink;
  readonly writes: WriteBehind;
  /** Keeps the backends apart: ids and checkpoints of one mean nothing to another. */
  readonly scope: string;
  /** How long the end of an answer waits for a write. */
  readonly redisMs: number;
  readonly limits?: Partial<RoomLimits>;
}

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
  /** More keys, which lead to the value. */
  readonly pointers?: readonly string[];
  /** A field that nobody but this writer may have set before. */
  readonly claim?: readonly [name: string, value: string];
}

/** `large`: it has more bytes than a value may have, and is gone. `taken`: another writer has the claim. */
export type PutOutcome = "put" | "large" | "taken";

/**
 * Adds fields to a hash, and makes room: the oldest values of the room are deleted. KEYS: the hash, the room's order, its sizes
 * (the field of an empty name has the sum), pointers. ARGV: how long they live, three limits, a claim, fields.
 */
const PUT = new RedisScript(`
local value, order, sizes = KEYS[1], KEYS[2], KEYS[3]
local ttl, maxBytes, maxItems, maxValue = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if ARGV[5] ~= '' then
  local holder = redis.call('HGET', value, ARGV[5])
  if holder and holder ~= ARGV[6] then return 'taken' end
  redis.call('HSET', value, ARGV[5], ARGV[6])
end
local counted = tonumber(redis.call('HGET', sizes, value) or '0')
local size = redis.call('EXISTS', value) == 1 and counted or 0
for at = 7, #ARGV, 2 do size = size + #ARGV[at] + #ARGV[at + 1] - redis.call('HSTRLEN', value, ARGV[at]) end
local function remove(member)
  local bytes = tonumber(redis.call('HGET', sizes, member) or '0')
  if bytes > 0 then redis.call('HINCRBY', sizes, '', -bytes) end
  redis.call('HDEL', sizes, member)
  redis.call('ZREM', order, member)
  redis.call('UNLINK', member)
end
if size > maxValue then
  remove(value)
  return 'large'
end
for at = 7, #ARGV, 2 do redis.call('HSET', value, ARGV[at], ARGV[at + 1]) end
redis.call('PEXPIRE', value, ttl)
for at = 4, #KEYS do redis.call('SET', KEYS[at], value, 'PX', ttl) end
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
return 'put'`);

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

  async put(client: RedisClient, { principalId, key, fields, pointers = [], claim }: NewValue): Promise<PutOutcome> {
    const { ttlMs, maxBytes, maxItems, maxValueBytes } = this.#limits;
    const room = isGuest(principalId) ? "guests" : digest(principalId);
    const [order, sizes] = ["room", "sizes"].map((name) => this.link.key(...this.#kind, name, room));
    const limits = [ttlMs, maxBytes, maxItems, maxValueBytes].map(String);
    const given = [...limits, ...(claim ?? ["", ""]), ...fields.flat()];
    return String(await PUT.run(client, [key, order ?? "", sizes ?? "", ...pointers], given)) as PutOutcome;
  }

  /** Returns a value with a checksum, so that one which somebody damaged, or put in another place, is found. */
  seal(place: string, value: string | Uint8Array): Buffer {
    const data = typeof value === "string" ? Buffer.from(value) : value;
    const sum = Buffer.alloc(SUM_BYTES);
    sum.writeUInt32BE(crc32(data, crc32(place)));
    return Buffer.concat([sum, data]);
  }

  /** Returns what was sealed for this place. Undefined if it is missing; if it is damaged, that is reported. */
  open(place: string, sealed: Buffer | undefined): Buffer | undefined {
    if (!sealed || sealed.length === 0) return undefined;
    const data = sealed.subarray(SUM_BYTES);
    if (sealed.length >= SUM_BYTES && sealed.readUInt32BE() === crc32(data, crc32(place))) return data;
    this.link.reportDamaged(this.#kind.at(-1) ?? "");
    return undefined;
  }

  /** Parses what was opened. Undefined if another version wrote it in another form. */
  parse<T>(data: Buffer | undefined, parse: (json: string) => T): T | undefined {
    try {
      return data && parse(data.toString());
    } catch {
      this.link.reportDamaged(this.#kind.at(-1) ?? "");
      return undefined;
    }
  }
}

const SUM_BYTES = 4;

/** Ids may hold anything, and are as long as their makers like. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");

export const MiB = 1024 * 1024;
export const DAY_MS = 86_400_000;
