import { expect, test } from "vitest";
import { checksum } from "../../../src/wire/agent/checksum.ts";

test.each([
  ["V1", 1_700_000_000_000, "Vfb45Bi9"],
  ["V5", 1_769_525_000_000, "pZGTi4-_"],
  ["V6", 1_790_000_000_123, "9cbI1oq_"],
])("vector %s, with the device behind the clock, as it is", (_, epochMs, expected) => {
  expect(checksum("239f59ed/256d04db", epochMs)).toBe(`${expected}239f59ed/256d04db`);
});
