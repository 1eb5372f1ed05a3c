import { randomUUID } from "node:crypto";
import { BoundedMap } from "../../../core/bounded-map.ts";
import type { Count, SharedCounts, Verdict } from "../../../usage/limits/shared-counts.ts";
import type { RedisClient, RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { digest } from "../stores/value-room.ts";
import type { WriteBehind } from "../write-behind.ts";

/** How long what was set aside outlives a process that is gone, and how often a process that lives says it again. */
const HOLD_MS = 30_000;
const RENEW_MS = 10_000;

/** A count that nobody touches. Longer than the longest window but that of a limit in total. */
const TTL_MS = 40 * 86_400_000;

const MAX_COUNTS = 10_000;

/**
 * A count is a hash: of each process what it has spent, what it has set aside, and until when that counts. KEYS: the counts.
 * ARGV: the process, how long what is set aside counts, how long counts live; of each count: the amount, spent, set aside, the part
 * of it that is wanted. Writes all of them, without what is wanted if there is no room. Returns 0 and what is left of each, or
 * the place of the limit without room, whether it is used up, and what was spent.
 */
const CLAIM = new RedisScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local refused, reply = nil, { 0 }
for at, key in ipairs(KEYS) do
  local amount, spent, held, wanted = unpack(ARGV, 4 * at, 4 * at + 3)
  local all, aside = tonumber(spent), tonumber(held) - tonumber(wanted)
  local found = redis.call('HGETALL', key)
  for field = 1, #found, 2 do
    local theirs, set, valid = string.match(found[field + 1], '^(%-?%d+) (%d+) (%d+)$')
    if theirs and found[field] ~= ARGV[1] then
      all = all + theirs
      if tonumber(valid) > now then aside = aside + set end
    end
  end
  local left = tonumber(amount) - all - aside
  reply[at + 1] = string.format('%.0f', left)
  if left <= 0 and not refused then refused = { at, all >= tonumber(amount) and 1 or 0, string.format('%.0f', all) } end
end
for at, key in ipairs(KEYS) do
  local amount, spent, held, wanted = unpack(ARGV, 4 * at, 4 * at + 3)
  local set = refused and string.format('%.0f', tonumber(held) - tonumber(wanted)) or held
  redis.call('HSET', key, ARGV[1], spent .. ' ' .. set .. ' ' .. string.format('%.0f', now + ARGV[2]))
  redis.call('PEXPIRE', key, ARGV[3])
end
return refused or reply`);

export interface RedisCountsOptions {
  readonly link: RedisLink;
  readonly writes: WriteBehind;
}

/** Adds up in Redis what all gateways count. */
export class RedisCounts implements SharedCounts {
  readonly #options: RedisCountsOptions;
  readonly #process = randomUUID();
  /** What is set aside, by name. It is told again while it is. */
  readonly #held = new BoundedMap<string, Count>(MAX_COUNTS);
  readonly #timer: NodeJS.Timeout;
  readonly #stop: () => void;

  constructor(options: RedisCountsOptions) {
    this.#options = options;
    const renew = () => {
      for (const count of this.#held.values()) this.tell([count]);
    };
    this.#timer = setInterval(renew, RENEW_MS).unref();
    this.#stop = options.link.onChange((isUp) => isUp && renew());
  }

  async claim(counts: readonly Count[]): Promise<Verdict | undefined> {
    const reply = await this.#options.link.ask(
      (client) => this.#run(client, counts),
      () => undefined,
    );
    if (!Array.isArray(reply)) return undefined;
    const [at, ...rest] = reply.map(Number);
    if (at) return { type: rest[0] === 1 ? "reached" : "reserved", at: at - 1, spent: rest[1] ?? 0 };
    for (const count of counts) this.#note(count);
    return { type: "room", left: rest };
  }

  tell(counts: readonly Count[]): void {
    const told = counts.map((count) => ({ ...count, wanted: 0 }));
    for (const count of told) this.#note(count);
    void this.#options.writes.add({ bytes: 256 * told.length, write: (client) => this.#run(client, told) });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop();
  }

  #run(client: RedisClient, counts: readonly Count[]): Promise<unknown> {
    const keys = counts.map(({ name }) => this.#options.link.key("count", digest(name)));
    const figures = counts.flatMap(({ amount, spent, held, wanted }) => [amount, spent, held, wanted]);
    const given = [this.#process, HOLD_MS, TTL_MS, ...figures.map(Math.round)];
    return CLAIM.run(client, keys, given.map(String));
  }

  #note(count: Count): void {
    if (count.held > 0) this.#held.set(count.name, { ...count, wanted: 0 });
    else this.#held.delete(count.name);
  }
}
