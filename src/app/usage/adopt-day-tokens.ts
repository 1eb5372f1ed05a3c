import type { StateDatabase } from "../../state/state-database.ts";
import type { UsageStore } from "../../usage/store/usage-store.ts";

const DAY_MS = 86_400_000;

/**
 * Moves the tokens of today that an older gateway has counted for keys from the state to the usage record. If that fails,
 * the next start tries again.
 */
export function adoptDayTokens(state: StateDatabase, store: UsageStore, now = Date.now()): void {
  const { connection } = state;
  const rows = state.read(() => connection.prepare("SELECT key, value FROM kv WHERE space = 'key-usage'").all(), []);
  const midnight = now - (now % DAY_MS);
  for (const { key, value } of rows) {
    const [day, tokens] = String(value).split(" ");
    if (day !== new Date(now).toISOString().slice(0, 10)) continue;
    const missing = Number(tokens) - store.spent(String(key), midnight, midnight + DAY_MS).tokens;
    if (missing > 0 && !store.addTokens(String(key), now, missing)) return;
  }
  if (rows.length > 0) state.write(() => connection.exec("DELETE FROM kv WHERE space = 'key-usage'"), undefined);
}
