import { RedisScript } from "../redis-script.ts";

/**
 * The money of a principal is in one hash, and that of a conversation in another:
 * - `lifted`: when its limits were lifted last;
 * - `from UNIT WINDOW` and `spent UNIT WINDOW`: the window that is counted, and what was spent in it;
 * - `held UNIT`: what is set aside for requests under way.
 *
 * `holds` has what each request has set aside, with the conversation it is also set aside in, and `expiry` when that ends
 * unless its node renews it.
 *
 * KEYS of all scripts: the principal, the conversation, holds, expiry.
 */
const COMMON = `
local principal, conversation, holds, expiry = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local UNITS = { 'tokens', 'dollars' }
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function number(key, field) return tonumber(redis.call('HGET', key, field) or '0') end
local function add(key, field, amount)
  if amount ~= 0 then redis.call('HINCRBYFLOAT', key, field, string.format('%.6f', amount)) end
end
-- A sum may be lost while its holds are not. It never falls below zero.
local function giveBack(key, field, amount) add(key, field, -math.min(amount, number(key, field))) end
local function free(id)
  local text = redis.call('HGET', holds, id)
  redis.call('ZREM', expiry, id)
  if not text then return end
  redis.call('HDEL', holds, id)
  local held = cjson.decode(text)
  for _, unit in ipairs(UNITS) do
    giveBack(principal, 'held ' .. unit, held[unit])
    if held.place ~= '' then giveBack(held.place, 'held ' .. unit, held[unit]) end
  end
end
local function keep()
  for at = 1, 4 do redis.call('PEXPIRE', KEYS[at], 3456000000) end
end
`;

/**
 * Reads the limits of a request. ARGV: id, when the limits were lifted, how long a hold lasts, whether seeds may raise what
 * is counted, two amounts, then for each limit: scope, unit, window, its start, its amount, the seed.
 */
const READ = `
local id, lifted, lasts, raises = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local wanted = {}
for at, unit in ipairs(UNITS) do wanted[unit] = tonumber(ARGV[4 + at]) end
local function lift(key, at)
  local known = number(key, 'lifted')
  if at <= known then return known end
  redis.call('DEL', key)
  redis.call('HSET', key, 'lifted', at)
  if key == principal then redis.call('DEL', holds, expiry) end
  return at
end
local liftedAt = lift(principal, lifted)
if conversation ~= principal then lift(conversation, liftedAt) end
for _, old in ipairs(redis.call('ZRANGE', expiry, '-inf', now, 'BYSCORE', 'LIMIT', 0, 50)) do free(old) end
local limits = {}
for at = 7, #ARGV, 6 do
  local key = ARGV[at] == 'c' and conversation or principal
  local unit, window, from, seed = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 5])
  -- A node that does not know of the lifting counts what came before it.
  if lifted < liftedAt then seed = 0 end
  local name = unit .. ' ' .. window
  local begun = redis.call('HGET', key, 'from ' .. name)
  local spent = number(key, 'spent ' .. name)
  if not begun or tonumber(begun) < from then
    spent = seed
    redis.call('HSET', key, 'from ' .. name, from, 'spent ' .. name, string.format('%.6f', spent))
  elseif raises and tonumber(begun) == from and spent < seed then
    spent = seed
    redis.call('HSET', key, 'spent ' .. name, string.format('%.6f', spent))
  end
  limits[#limits + 1] = { unit = unit, amount = tonumber(ARGV[at + 4]), spent = spent, held = number(key, 'held ' .. unit) }
end
keep()
local function refuse(kind, at) return { kind, at - 1, string.format('%.6f', limits[at].spent) } end
local function set(held)
  redis.call('HSET', holds, id, cjson.encode(held))
  redis.call('ZADD', expiry, now + lasts, id)
  keep()
  local reply = { 'held' }
  for at, unit in ipairs(UNITS) do reply[at + 1] = string.format('%.6f', wanted[unit]) end
  for at, limit in ipairs(limits) do reply[at + 3] = string.format('%.6f', limit.spent) end
  return reply
end
`;

/** Sets amounts aside for a new request, or says which limit leaves no room. */
export const RESERVE: RedisScript = new RedisScript(`${COMMON}${READ}
for at, limit in ipairs(limits) do if limit.spent >= limit.amount then return refuse('reached', at) end end
for at, limit in ipairs(limits) do
  if limit.spent + limit.held >= limit.amount then return refuse('reserved', at) end
end
-- Asked again because the reply was late.
if redis.call('HEXISTS', holds, id) == 1 then free(id) end
for _, unit in ipairs(UNITS) do
  add(principal, 'held ' .. unit, wanted[unit])
  if conversation ~= principal then add(conversation, 'held ' .. unit, wanted[unit]) end
end
local held = { place = conversation ~= principal and conversation or '' }
for _, unit in ipairs(UNITS) do held[unit] = wanted[unit] end
return set(held)`);

/** Sets more aside for a request, but no more than is left. */
export const EXTEND: RedisScript = new RedisScript(`${COMMON}${READ}
local text = redis.call('HGET', holds, id)
local held = text and cjson.decode(text) or { tokens = 0, dollars = 0, place = '' }
for at, limit in ipairs(limits) do
  if wanted[limit.unit] > 0 then
    local left = limit.amount - limit.spent - limit.held
    if left <= 0 then return refuse('reached', at) end
    wanted[limit.unit] = math.min(wanted[limit.unit], left)
  end
end
if conversation ~= principal then held.place = conversation end
for _, unit in ipairs(UNITS) do
  add(principal, 'held ' .. unit, wanted[unit])
  if conversation ~= principal then add(conversation, 'held ' .. unit, wanted[unit]) end
  held[unit] = held[unit] + wanted[unit]
end
return set(held)`);

/**
 * Counts what a request has spent, once, and frees what was set aside. A request that began before its limits were lifted
 * counts nothing. KEYS: as above, the mark that it was counted. ARGV: id, how long the mark lasts, when the limits were
 * lifted before the request, then for each limit: scope, unit, window, its start, the amount, the seed. Does nothing and
 * returns -1 if a window is not counted yet and its seed is empty.
 */
export const SETTLE: RedisScript = new RedisScript(`${COMMON}
local id = ARGV[1]
local function each(count)
  for at = 4, #ARGV, 6 do
    local key = ARGV[at] == 'c' and conversation or principal
    count(key, ARGV[at + 1] .. ' ' .. ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4]), ARGV[at + 5])
  end
end
local isUnknown = false
each(function(key, name, from, amount, seed)
  if seed == '' and redis.call('HEXISTS', key, 'from ' .. name) == 0 then isUnknown = true end
end)
if isUnknown then return -1 end
if not redis.call('SET', KEYS[5], '1', 'NX', 'PX', ARGV[2]) then return 0 end
free(id)
if tonumber(ARGV[3]) < number(principal, 'lifted') then return 0 end
each(function(key, name, from, amount, seed)
  local begun = redis.call('HGET', key, 'from ' .. name)
  if not begun then
    redis.call('HSET', key, 'from ' .. name, from, 'spent ' .. name, seed)
    begun = from
  end
  if begun == from then add(key, 'spent ' .. name, amount) end
end)
keep()
return 1`);

/** Keeps holds for longer. KEYS: expiry. ARGV: how long, then the ids. */
export const RENEW: RedisScript = new RedisScript(`
local clock = redis.call('TIME')
local until_ms = clock[1] * 1000 + math.floor(clock[2] / 1000) + tonumber(ARGV[1])
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', until_ms, ARGV[at]) end
return 1`);
