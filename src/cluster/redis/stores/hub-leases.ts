import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { OwnAnswer } from "../../../core/hub/hub-answers.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import type { WriteBehind } from "../write-behind.ts";

/** How long an answer stays with a node that does not renew its lease. Longer than calls go on after their client is gone. */
const LEASE_MS = 5000;
const RENEW_MS = 1000;

/** How often a node that waits looks at the lease of another one. */
const LOOK_MS = 100;

/** KEYS: leases. ARGV: the node, the new value, how long it lasts. Returns how many are the node's now. */
const TAKE = new RedisScript(`
local taken = 0
for _, key in ipairs(KEYS) do
  local lease = redis.call('GET', key)
  if not lease or string.sub(lease, 1, #ARGV[1]) == ARGV[1] then
    redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
    taken = taken + 1
  end
end
return taken`);

const FREE = new RedisScript(`
local lease = redis.call('GET', KEYS[1])
if lease and string.sub(lease, 1, #ARGV[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`);

/**
 * The answers of the hub that this node makes, as the other nodes see them. A lease is the node and a number, which changes
 * while a run uses the answer. So a node that waits can tell an answer that is being made from one whose node is gone.
 */
export class HubLeases {
  /** This process. */
  readonly node: string = randomUUID();
  readonly #link: RedisLink;
  readonly #writes: WriteBehind;
  /** By the key of the lease. */
  readonly #held = new Map<string, OwnAnswer>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(link: RedisLink, writes: WriteBehind) {
    this.#link = link;
    this.#writes = writes;
  }

  /** Renews a lease from now on, while a run uses the answer. Returns what a script needs to take it: value and duration. */
  hold(key: string, answer: OwnAnswer): readonly [value: string, lasts: string] {
    this.#held.set(key, answer);
    this.#timer ??= setInterval(() => this.#renew(), RENEW_MS).unref();
    return this.#next();
  }

  /** Returns false if another node has it. */
  async take(key: string, answer: OwnAnswer): Promise<boolean> {
    const given = this.hold(key, answer);
    const taken = await this.#link.ask(
      (client) => TAKE.run(client, [key], [this.node, ...given]),
      () => 1,
    );
    if (taken !== 1) this.forget(key);
    return taken === 1;
  }

  /** Gives a lease back after everything that was written before. Returns false if there was none. */
  free(key: string): boolean {
    if (!this.forget(key)) return false;
    this.#writes.add({
      prepare: Promise.resolve(),
      bytes: key.length,
      write: (client) => FREE.run(client, [key], [this.node]),
    });
    return true;
  }

  /** No longer renews a lease. Returns whether it was renewed before. */
  forget(key: string): boolean {
    const wasHeld = this.#held.delete(key);
    if (this.#held.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    return wasHeld;
  }

  /** True for the lease of another node. */
  isElsewhere(lease: string): boolean {
    return lease !== "" && !lease.startsWith(this.node);
  }

  /** Resolves when one of these leases has changed or is gone, or Redis is away. */
  async changed(leases: ReadonlyMap<string, string>, signal: AbortSignal | undefined): Promise<void> {
    const keys = [...leases.keys()];
    for (;;) {
      await sleep(LOOK_MS, undefined, { signal });
      const now = await this.#link.ask<readonly (string | null)[]>(
        (client) => client.mGet(keys),
        () => [],
      );
      if (keys.some((key, at) => now[at] !== leases.get(key))) return;
    }
  }

  #next(): readonly [string, string] {
    this.#count++;
    return [`${this.node} ${this.#count}`, String(LEASE_MS)];
  }

  #renew(): void {
    const keys = [...this.#held].filter(([, { isHeld }]) => isHeld).map(([key]) => key);
    if (keys.length === 0) return;
    void this.#link.ask(
      (client) => TAKE.run(client, keys, [this.node, ...this.#next()]),
      () => 0,
    );
  }
}
