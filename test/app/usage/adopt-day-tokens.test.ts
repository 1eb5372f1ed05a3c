import { expect, it, onTestFinished } from "vitest";
import { adoptDayTokens } from "../../../src/app/usage/adopt-day-tokens.ts";
import { createKeyValueStore } from "../../../src/state/key-value-store.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";
import { openUsageDatabase } from "../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../src/usage/store/usage-store.ts";
import { aRecord } from "../../usage/support.ts";

const NOON = Date.UTC(2026, 10, 16, 12);

it("moves the tokens of today to the usage record, as far as it does not have them", async () => {
  const state = await openStateDatabase(":memory:", { onNotice: () => {} });
  onTestFinished(() => state.close());
  const connection = await openUsageDatabase(":memory:", () => {});
  const store = new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, onNotice: () => {}, now: () => NOON });
  onTestFinished(() => store.close());
  const old = createKeyValueStore(state, "key-usage");
  old.set("key_a", "2026-11-16 500");
  old.set("key_b", "2026-11-15 500");
  old.set("key_c", "2026-11-16 500");
  store.request(aRecord({ principalId: "key_c" }));
  const spent = () =>
    ["key_a", "key_b", "key_c"].map((id) => store.spent(id, NOON - 12 * 3_600_000, NOON + 3_600_000).tokens);
  adoptDayTokens(state, store, NOON);
  expect(spent()).toEqual([500, 0, 500]);
  expect(old.get("key_a")).toBeUndefined();
  adoptDayTokens(state, store, NOON);
  expect(spent()).toEqual([500, 0, 500]);
});
