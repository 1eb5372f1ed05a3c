import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ExcursorError } from "../../core/errors.ts";
import type { RedisLink } from "./redis-link.ts";
import { RedisScript } from "./redis-script.ts";

/** KEYS: the lock. ARGV: the holder, how long it holds. Returns whether it is theirs. */
const TAKE = new RedisScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`);

const FREE = new RedisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`);

/** Takes or renews a lock. Resolves with undefined if Redis is away. */
export async function takeLock(
  link: RedisLink,
  key: string,
  holder: string,
  heldMs: number,
): Promise<boolean | undefined> {
  const taken = await link.ask(
    (client) => TAKE.run(client, [key], [holder, String(heldMs)]),
    () => undefined,
  );
  return taken === undefined ? undefined : taken === 1;
}

const HELD_MS = 4000;
const RENEW_MS = 1000;
const PATIENCE_MS = 45_000;

/**
 * Runs one piece of work at a time on all nodes. A holder renews the lock while it works; one that is gone is waited for no
 * longer than {@link HELD_MS}. While Redis is away, the work is done without the lock.
 */
export async function withRedisLock<T>(link: RedisLink, key: string, work: () => Promise<T> | T): Promise<T> {
  const holder = randomUUID();
  const take = () => takeLock(link, key, holder, HELD_MS);
  const until = performance.now() + PATIENCE_MS;
  while ((await take()) === false) {
    if (performance.now() > until) throw held();
    await sleep(10 + Math.random() * 30);
  }
  const renewal = setInterval(() => void take(), RENEW_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await link.ask(
      (client) => FREE.run(client, [key], [holder]),
      () => undefined,
    );
  }
}

const held = (): ExcursorError =>
  new ExcursorError("locked", "Another gateway of the cluster is renewing a login, and does not end.", {
    hint: "Try again in a minute.",
  });
