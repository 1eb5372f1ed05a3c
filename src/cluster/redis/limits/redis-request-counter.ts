import { OwnRequestCounter, type RequestCounter } from "../../../server/gate/request-counter.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { digest } from "../stores/value-room.ts";

/** A minute begins with the first request. KEYS: the count. ARGV: the limit, a minute. */
const COUNT = new RedisScript(`
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if count <= tonumber(ARGV[1]) then return 0 end
redis.call('DECR', KEYS[1])
return math.max(1, redis.call('PTTL', KEYS[1]))`);

const MINUTE_MS = 60_000;

/** Counts the requests of all gateways in Redis, and those of this one here, so that Redis can only refuse more. */
export class RedisRequestCounter implements RequestCounter {
  readonly #link: RedisLink;
  readonly #own = new OwnRequestCounter();

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async count(principalId: string, perMinute: number): Promise<number> {
    const ownMs = this.#own.count(principalId, perMinute);
    if (ownMs > 0) return ownMs;
    const key = this.#link.key("rate", digest(principalId));
    const waitMs = await this.#link.ask(
      async (client) => Number(await COUNT.run(client, [key], [String(perMinute), String(MINUTE_MS)])),
      () => 0,
    );
    if (waitMs > 0) this.#own.giveBack(principalId);
    return waitMs;
  }
}
