import { expect, it, onTestFinished } from "vitest";
import { createDayTokens } from "../../../src/app/usage/day-tokens.ts";
import { createKeyValueStore } from "../../../src/state/key-value-store.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";

it("counts the tokens of a key for its day, and keeps nothing of days before", async () => {
  const database = await openStateDatabase(":memory:", { onNotice: () => {} });
  onTestFinished(() => database.close());
  const store = createKeyValueStore(database, "key-usage");
  createKeyValueStore(database, "others").set("key_1", "2000-01-01 1");
  const dayTokens = createDayTokens(store);
  dayTokens.spend("key_revoked", "2026-11-15", 5);
  dayTokens.spend("key_2", "2026-11-15", 2);
  dayTokens.spend("key_2", "2026-11-15", 2);
  expect([dayTokens.spent("key_revoked", "2026-11-15"), dayTokens.spent("key_2", "2026-11-15")]).toEqual([5, 4]);

  dayTokens.spend("key_2", "2026-11-16", 1);
  expect(dayTokens.spent("key_2", "2026-11-16")).toBe(1);
  expect(store.get("key_revoked")).toBeUndefined();
  expect(createKeyValueStore(database, "others").get("key_1")).toBe("2000-01-01 1");
});
