import type { TokenLedger } from "../server/gate/key-allowance.ts";
import type { KeyValueStore } from "../state/key-value-store.ts";

/** One line for each key: the day, and what was used on it. */
export function createKeyLedger(store: KeyValueStore): TokenLedger {
  const spent = (keyId: string, day: string): number => {
    const [lastDay, tokens] = store.get(keyId)?.split(" ") ?? [];
    return lastDay === day ? Number(tokens) : 0;
  };
  return {
    spent,
    spend: (keyId, day, tokens) => store.set(keyId, `${day} ${spent(keyId, day) + tokens}`),
  };
}
