import type { DayTokens } from "../../server/gate/key-allowance.ts";
import type { KeyValueStore } from "../../state/key-value-store.ts";

/**
 * Stores one entry for each key: the day and its tokens. Deletes entries of past days, which also removes revoked keys.
 */
export function createDayTokens(store: KeyValueStore): DayTokens {
  let latestDay = "";
  const spent = (keyId: string, day: string): number => {
    const [lastDay, tokens] = store.get(keyId)?.split(" ") ?? [];
    return lastDay === day ? Number(tokens) : 0;
  };
  return {
    spent,
    spend: (keyId, day, tokens) => {
      if (day > latestDay) store.deleteBefore(day);
      latestDay = day;
      store.set(keyId, `${day} ${spent(keyId, day) + tokens}`);
    },
  };
}
