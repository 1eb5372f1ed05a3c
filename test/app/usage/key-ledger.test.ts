import { expect, it, onTestFinished } from "vitest";
import { createKeyLedger } from "../../../src/app/usage/key-ledger.ts";
import { createKeyValueStore } from "../../../src/state/key-value-store.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";

it("counts the tokens of a key for its day, and keeps nothing of days before", async () => {
  const database = await openStateDatabase(":memory:", { onNotice: () => {} });
  onTestFinished(() => database.close());
  const store = createKeyValueStore(database, "key-usage");
  createKeyValueStore(database, "others").set("key_1", "2000-01-01 1");
  const ledger = createKeyLedger(store);
  ledger.spend("key_revoked", "2026-11-15", 5);
  ledger.spend("key_2", "2026-11-15", 2);
  ledger.spend("key_2", "2026-11-15", 2);
  expect([ledger.spent("key_revoked", "2026-11-15"), ledger.spent("key_2", "2026-11-15")]).toEqual([5, 4]);

  ledger.spend("key_2", "2026-11-16", 1);
  expect(ledger.spent("key_2", "2026-11-16")).toBe(1);
  expect(store.get("key_revoked")).toBeUndefined();
  expect(createKeyValueStore(database, "others").get("key_1")).toBe("2000-01-01 1");
});
