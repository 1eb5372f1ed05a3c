import { join } from "node:path";
import { openHome } from "../../config/home.ts";
import type { Log } from "../../observe/log.ts";
import type { HeldClock } from "../../usage/limits/held-clock.ts";
import { openUsageDatabase } from "../../usage/store/usage-database.ts";
import { UsageStore } from "../../usage/store/usage-store.ts";
import type { Config } from "../load-config.ts";

export interface UsageOptions {
  readonly config: Config;
  readonly home: string;
  readonly log: Log;
  readonly isDemo: boolean;
  readonly clock: HeldClock;
}

export const usagePath = (home: string): string => join(home, "usage.db");

const DAY_MS = 86_400_000;

/** Opens the usage record. In demo mode, without state and if nothing is recorded it is in memory. */
export async function openUsage({ config, home, log, isDemo, clock }: UsageOptions): Promise<UsageStore> {
  const onNotice = (text: string) => log.warn({ code: "usage_record" }, text);
  const isKept = !isDemo && config.state === "on" && config.usage.record === "on";
  if (isKept) openHome(home);
  const connection = await openUsageDatabase(isKept ? usagePath(home) : ":memory:", onNotice);
  const { days, bytes } = config.usage;
  return new UsageStore(connection, { maxAgeMs: days * DAY_MS, maxBytes: bytes, onNotice, clock });
}
