import { randomUUID } from "node:crypto";
import type { SeatVerdict, SharedGate } from "../../../server/gate/shared-limits.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { digest } from "../stores/value-room.ts";
import type { WriteBehind } from "../write-behind.ts";

export interface RedisGateOptions {
  readonly link: RedisLink;
  readonly writes: WriteBehind;
  /** Returns how many nodes there are, or were when Redis was there, this one included. */
  readonly nodes: () => number;
}

/** Counts requests of a minute, which begins with the first of them. KEYS: the count. ARGV: the limit, a minute. */
const ADMIT = new RedisScript(`
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if count <= tonumber(ARGV[1]) then return 0 end
redis.call('DECR', KEYS[1])
return math.max(1, redis.call('PTTL', KEYS[1]))`);

/**
 * A hash has the seats of each node, with the time until which that counts: a node that is gone frees its own. KEYS: the
 * hash. ARGV: the node, its seats, the limit (0 for none), how long that counts.
 */
const SEATS = new RedisScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local others, ours, limit = 0, tonumber(ARGV[2]), tonumber(ARGV[3])
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local count, valid = string.match(all[at + 1], '(%d+) (%d+)')
  if tonumber(valid) <= now then redis.call('HDEL', KEYS[1], all[at])
  elseif all[at] ~= ARGV[1] then others = others + tonumber(count) end
end
if limit > 0 and ours + others > limit then return { 0, others } end
if ours == 0 then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ours .. ' ' .. string.format('%.0f', now + tonumber(ARGV[4]))) end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 1, others }`);

const MINUTE_MS = 60_000;
const SEAT_MS = 60_000;
const RENEW_MS = 20_000;

/** Counts requests and seats of all nodes in Redis. */
export class RedisGate implements SharedGate {
  readonly #options: RedisGateOptions;
  readonly #node = randomUUID();
  /** The seats of this node, by key of the hash. */
  readonly #seats = new Map<string, number>();
  readonly #renewal: NodeJS.Timeout;
  readonly #stop: () => void;

  constructor(options: RedisGateOptions) {
    this.#options = options;
    this.#renewal = setInterval(() => this.#renew(), RENEW_MS).unref();
    this.#stop = options.link.onChange((isUp) => isUp && this.#renew());
  }

  get nodes(): number {
    return Math.max(1, this.#options.nodes());
  }

  serveRequest<T>(serve: () => T): T {
    return this.#options.link.serveRequest(serve);
  }

  async admit(principalId: string, perMinute: number): Promise<number | undefined> {
    const { link } = this.#options;
    const waitMs = await link.askBriefly(
      (client) => ADMIT.run(client, [link.key("rate", digest(principalId))], [String(perMinute), String(MINUTE_MS)]),
      () => undefined,
    );
    return typeof waitMs === "number" ? waitMs : undefined;
  }

  async take(what: string, principalId: string, ours: number, limit: number): Promise<SeatVerdict | undefined> {
    const key = this.#key(what, principalId);
    const verdict = await this.#put(key, ours, limit, "askBriefly");
    if (verdict?.isTaken !== false) this.#seats.set(key, ours);
    return verdict;
  }

  set(what: string, principalId: string, ours: number): void {
    const key = this.#key(what, principalId);
    if (ours === 0) this.#seats.delete(key);
    else this.#seats.set(key, ours);
    const { writes } = this.#options;
    writes.add({
      prepare: Promise.resolve(),
      bytes: key.length,
      // A seat may have been taken meanwhile.
      write: (client) => SEATS.run(client, [key], this.#seatsOf(key)),
    });
  }

  close(): void {
    clearInterval(this.#renewal);
    this.#stop();
  }

  #key(what: string, principalId: string): string {
    return this.#options.link.key("seats", what.replaceAll(" ", "-"), digest(principalId));
  }

  async #put(
    key: string,
    ours: number,
    limit: number,
    ask: "ask" | "askBriefly" = "ask",
  ): Promise<SeatVerdict | undefined> {
    const reply = await this.#options.link[ask](
      (client) => SEATS.run(client, [key], this.#seatsOf(key, ours, limit)),
      () => undefined,
    );
    if (!Array.isArray(reply)) return undefined;
    return { isTaken: reply[0] === 1, others: Number(reply[1]) };
  }

  #seatsOf(key: string, ours = this.#seats.get(key) ?? 0, limit = 0): readonly string[] {
    return [this.#node, String(ours), String(limit), String(SEAT_MS)];
  }

  #renew(): void {
    for (const [key, ours] of this.#seats) void this.#put(key, ours, 0);
  }
}
