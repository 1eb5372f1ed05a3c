import type { RedisClient, RedisLink } from "../redis/redis-link.ts";
import { RedisScript } from "../redis/redis-script.ts";
import { type NodeRecord, parseRecord } from "./node-record.ts";

/** How long a gateway counts as alive after its last heartbeat. */
export const NODE_TTL_MS = 5000;

/**
 * One round trip for a heartbeat: stores the own record unless another process has the name, forgets the gateways that are
 * gone, and returns the time of Redis. The version changes when a gateway comes, goes or begins to drain. All records are
 * returned only if the caller knows another version: otherwise the heartbeats of many gateways would read most of them in
 * vain.
 *
 * KEYS: own record, names by last heartbeat, version. ARGV: record or "", tag, name, TTL in ms, prefix of the records, the
 * version that the caller knows.
 */
const BEAT = new RedisScript(`
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local changes, known = 0, ARGV[6]
if ARGV[1] ~= "" then
  local held = redis.call("GET", KEYS[1])
  local before = held and cjson.decode(held)
  if before and before.tag ~= ARGV[2] then return { "taken", held } end
  if not before then known = "" end
  if not before or before.isDraining ~= cjson.decode(ARGV[1]).isDraining then changes = 1 end
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[4])
  redis.call("ZADD", KEYS[2], now, ARGV[3])
  redis.call("PEXPIRE", KEYS[2], ARGV[4])
  changes = changes + redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now - ARGV[4])
  if changes > 0 then redis.call("INCR", KEYS[3]) end
  redis.call("PEXPIRE", KEYS[3], ARGV[4])
end
local version = redis.call("GET", KEYS[3]) or ""
local found = { "ok", tostring(now), version }
if known ~= "" and known == version then return found end
local keys = {}
for at, name in ipairs(redis.call("ZRANGE", KEYS[2], 0, 999)) do keys[at] = ARGV[5] .. name end
found[4] = #keys > 0 and redis.call("MGET", unpack(keys)) or {}
return found
`);

/** Removes the own record, if it is still the own one. */
const LEAVE = new RedisScript(`
local held = redis.call("GET", KEYS[1])
if held and cjson.decode(held).tag == ARGV[1] then
  redis.call("DEL", KEYS[1])
  redis.call("ZREM", KEYS[2], ARGV[2])
  redis.call("INCR", KEYS[3])
  redis.call("PEXPIRE", KEYS[3], ARGV[3])
end
return 0
`);

export type BeatReply =
  | {
      readonly type: "beaten";
      readonly redisMs: number;
      readonly version: string;
      /** All gateways. Undefined if they are those of the version that the caller knows. */
      readonly nodes: readonly NodeRecord[] | undefined;
    }
  /** Another process has the name. */
  | { readonly type: "taken"; readonly by: NodeRecord | undefined };

const keysOf = (link: RedisLink, name: string): readonly string[] => [
  link.key("node", name),
  link.key("nodes"),
  link.key("nodes-version"),
];

/** Sends a heartbeat; without a record, only reads those of the others. */
export async function beat(client: RedisClient, link: RedisLink, own?: NodeRecord, known = ""): Promise<BeatReply> {
  const name = own?.name ?? "";
  const record = own ? JSON.stringify(own) : "";
  const given = [record, own?.tag ?? "", name, String(NODE_TTL_MS), link.key("node", ""), known];
  const [status, second, version, records] = (await BEAT.run(client, keysOf(link, name), given)) as unknown[];
  if (String(status) === "taken") return { type: "taken", by: parseRecord(String(second)) };
  const nodes = (records as readonly unknown[] | undefined)?.map((json) => parseRecord(String(json)));
  return {
    type: "beaten",
    redisMs: Number(String(second)),
    version: String(version),
    nodes: nodes?.filter((node) => node !== undefined),
  };
}

export async function leave(client: RedisClient, link: RedisLink, { name, tag }: NodeRecord): Promise<void> {
  await LEAVE.run(client, keysOf(link, name), [tag, name, String(NODE_TTL_MS)]);
}
