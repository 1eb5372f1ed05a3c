import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { loadConfig } from "../../app/load-config.ts";
import { usagePath } from "../../app/usage/open-usage.ts";
import { ExcursorError } from "../../core/errors.ts";
import { formatAmount } from "../../core/limits/limit.ts";
import { jsonText } from "../../core/printable.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import { keysPath, readKeys } from "../../server/gate/keys/gateway-keys.ts";
import { liftLimits } from "../../usage/limits/lift-limits.ts";
import { limitUse } from "../../usage/queries/limit-use.ts";
import { openUsageDatabase, openUsageForReading } from "../../usage/store/usage-database.ts";
import { UsageStore } from "../../usage/store/usage-store.ts";
import { formatTable } from "../terminal/format-table.ts";

/** A key as far as its limits are concerned. */
interface LimitedKey {
  readonly name: string;
  readonly id: string;
  readonly limits: readonly string[];
  readonly onLimit: "end" | "pause";
}

/** One limit of a key. */
interface LimitLine {
  readonly key: string;
  readonly limit: string;
  /** For people. Null for requests, and if the limit holds for each conversation by itself. */
  readonly used: string | null;
  /** Null if it does not reset. */
  readonly resetsAt: string | null;
  readonly isReached: boolean;
  readonly onLimit: "end" | "pause";
}

export async function runListLimits(isJson: boolean): Promise<void> {
  const { home, keys } = readLimitedKeys();
  const lines = await withStore(home, (store) => keys.flatMap((key) => linesOf(key, store)));
  if (isJson) process.stdout.write(`${jsonText(lines, 2)}\n`);
  else if (lines.length === 0) {
    process.stderr.write("No key has a limit. Create a key with one: excursor keys add NAME --limit '$5/day'\n");
  } else {
    process.stdout.write(
      formatTable(
        ["KEY", "LIMIT", "USED", "RESETS", "STATE", "ON LIMIT"],
        lines.map(({ key, limit, used, resetsAt, isReached, onLimit }) => [
          key,
          limit,
          used ?? "-",
          resetsAt ?? "-",
          isReached ? "reached" : "ok",
          onLimit,
        ]),
      ),
    );
  }
}

export async function runLiftLimits(name: string, isJson: boolean): Promise<void> {
  const { home, keys } = readLimitedKeys();
  const key = keys.find((one) => one.name === name);
  if (!key) {
    const known = keys.map((one) => one.name).join(", ");
    throw new ExcursorError("unknown_key", `There is no key named ${name}; known keys: ${known}.`, { hint: null });
  }
  if (!existsSync(usagePath(home))) {
    throw new ExcursorError("no_usage_record");
  }
  const liftedAt = Date.now();
  await withStore(home, (_, connection) => {
    // A running gateway may be writing.
    connection.exec("PRAGMA busy_timeout = 5000");
    liftLimits(connection, key.id, liftedAt);
  });
  if (isJson) process.stdout.write(`${jsonText({ key: name, liftedAt: new Date(liftedAt).toISOString() })}\n`);
  else process.stdout.write(`Lifted: what ${name} has used so far no longer counts.\n`);
}

/** Reads the keys with their limits; the gateway's own key is the first one. */
function readLimitedKeys(): { readonly home: string; readonly keys: readonly LimitedKey[] } {
  const { home, values } = loadConfig({ flags: {}, environment: process.env });
  const { ownLimits, onLimit } = values.usage;
  const own: LimitedKey = { name: OWNER.id, id: OWNER.id, limits: ownLimits, onLimit };
  const issued = readKeys(keysPath(home)).map(({ name, id, limits }) => ({
    name,
    id,
    limits: limits.usage,
    onLimit: limits.onLimit ?? ("end" as const),
  }));
  return { home, keys: [own, ...issued] };
}

function linesOf(key: LimitedKey, store: UsageStore): readonly LimitLine[] {
  const { name, limits, onLimit } = key;
  return limits.flatMap((text) => {
    const found = limitUse(text, key.id, store, Date.now());
    if (!found) return [];
    const { limit, unit, amount, used, resetsAtMs } = found;
    return {
      key: name,
      limit,
      used: used === undefined ? null : formatAmount(unit, used),
      resetsAt: resetsAtMs === undefined ? null : new Date(resetsAtMs).toISOString(),
      isReached: used !== undefined && used >= amount,
      onLimit,
    };
  });
}

/** Opens the usage record; an empty one if there is none yet. Only a gateway puts a record of another version aside. */
async function withStore<T>(home: string, work: (store: UsageStore, connection: DatabaseSync) => T): Promise<T> {
  const path = usagePath(home);
  const onNotice = (text: string) => void process.stderr.write(`${text}\n`);
  const known = await openUsageForReading(path);
  known?.close();
  const connection = await openUsageDatabase(known ? path : ":memory:", onNotice);
  const store = new UsageStore(connection, {
    maxAgeMs: Number.MAX_SAFE_INTEGER,
    maxBytes: Number.MAX_SAFE_INTEGER,
    onNotice,
  });
  try {
    return work(store, connection);
  } finally {
    store.close();
  }
}
