import type { RedisClient, RedisLink } from "../redis/redis-link.ts";
import { type NodeRecord, parseRecord } from "./node-record.ts";

/** How long a gateway counts as alive after its last heartbeat. */
export const NODE_TTL_MS = 5000;

/**
 * One round trip for a heartbeat: stores the own record unless another process has the name, forgets the gateways that are
 * gone, and returns the time of Redis with all records.
 *
 * KEYS: own record, names by last heartbeat. ARGV: record or "", tag, name, TTL in ms, prefix of the records.
 */
const BEAT = `
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[1] ~= "" then
  local held = redis.call("GET", KEYS[1])
  if held and cjson.decode(held).tag ~= ARGV[2] then return { "taken", held } end
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[4])
  redis.call("ZADD", KEYS[2], now, ARGV[3])
  redis.call("PEXPIRE", KEYS[2], ARGV[4])
  redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now - ARGV[4])
end
local found = { "ok", tostring(now) }
for _, name in ipairs(redis.call("ZRANGE", KEYS[2], 0, 999)) do
  local record = redis.call("GET", ARGV[5] .. name)
  if record then table.insert(found, record) end
end
return found
`;

/** Removes the own record, if it is still the own one. */
const LEAVE = `
local held = redis.call("GET", KEYS[1])
if held and cjson.decode(held).tag == ARGV[1] then
  redis.call("DEL", KEYS[1])
  redis.call("ZREM", KEYS[2], ARGV[2])
end
return 0
`;

export type BeatReply =
  | { readonly type: "beaten"; readonly redisMs: number; readonly nodes: readonly NodeRecord[] }
  /** Another process has the name. */
  | { readonly type: "taken"; readonly by: NodeRecord | undefined };

/** Sends a heartbeat; without a record, only reads those of the others. */
export async function beat(client: RedisClient, link: RedisLink, own?: NodeRecord): Promise<BeatReply> {
  const name = own?.name ?? "";
  const [status, second = "", ...records] = (await client.eval(BEAT, {
    keys: [link.key("node", name), link.key("nodes")],
    arguments: [own ? JSON.stringify(own) : "", own?.tag ?? "", name, String(NODE_TTL_MS), link.key("node", "")],
  })) as string[];
  if (status === "taken") return { type: "taken", by: parseRecord(second) };
  const nodes = records.map(parseRecord).filter((record) => record !== undefined);
  return { type: "beaten", redisMs: Number(second), nodes };
}

export async function leave(client: RedisClient, link: RedisLink, { name, tag }: NodeRecord): Promise<void> {
  await client.eval(LEAVE, { keys: [link.key("node", name), link.key("nodes")], arguments: [tag, name] });
}
