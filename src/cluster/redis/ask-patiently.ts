import { setTimeout as wait } from "node:timers/promises";
import { ExcursorError } from "../../core/errors.ts";
import type { RedisClient, RedisLink } from "./redis-link.ts";

const PATIENCE_MS = 5000;

const PAUSE_MS = 250;

/** Asks Redis when there is nothing to fall back on, as at the start. Asks again for some seconds, then throws. */
export async function askPatiently<T extends object>(
  link: RedisLink,
  work: (client: RedisClient) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  do {
    const reply = await link.ask<T | undefined>(work, () => undefined);
    if (reply) return reply;
    await wait(PAUSE_MS);
  } while (performance.now() < deadline);
  throw new ExcursorError("redis_unreachable", [], { hint: "Check that Redis runs and is not overloaded." });
}
