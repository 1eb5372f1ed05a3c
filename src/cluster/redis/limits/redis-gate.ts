import type { SharedGate } from "../../../server/gate/shared-limits.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { digest } from "../stores/value-room.ts";

/** Counts requests of a minute, which begins with the first of them. KEYS: the count. ARGV: the limit, a minute. */
const ADMIT = new RedisScript(`
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if count <= tonumber(ARGV[1]) then return 0 end
redis.call('DECR', KEYS[1])
return math.max(1, redis.call('PTTL', KEYS[1]))`);

const MINUTE_MS = 60_000;

/** Counts the requests of all gateways in Redis. */
export class RedisGate implements SharedGate {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async admit(principalId: string, perMinute: number): Promise<number | undefined> {
    const link = this.#link;
    const waitMs = await link.ask(
      (client) => ADMIT.run(client, [link.key("rate", digest(principalId))], [String(perMinute), String(MINUTE_MS)]),
      () => undefined,
    );
    return typeof waitMs === "number" ? waitMs : undefined;
  }
}
