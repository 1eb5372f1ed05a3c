import { describe, expect, test } from "vitest";
import { type ChecksumOptions, checksum, floorToHalfHour } from "../../../src/wire/agent/checksum.ts";

const V1 = 1_700_000_000_000;
const bigEndian = { bytes: "big-endian" } as const;

describe("checksum", () => {
  test.each<[name: string, options: Omit<ChecksumOptions, "device">, expected: string]>([
    ["V1", { epochMs: V1 }, "Vfb45Bi9"],
    ["V2", { epochMs: V1, ...bigEndian }, "paaotEjt"],
    ["V3", { epochMs: V1, clock: floorToHalfHour }, "VcvN1yu5"],
    ["V4", { epochMs: V1, clock: floorToHalfHour, ...bigEndian }, "paaotEjc"],
    ["V5", { epochMs: 1_769_525_000_000 }, "pZGTi4-_"],
    ["V5, standard alphabet", { epochMs: 1_769_525_000_000, alphabet: "base64" }, "pZGTi4+/"],
    ["V6", { epochMs: 1_790_000_000_123 }, "9cbI1oq_"],
    ["V6, standard alphabet", { epochMs: 1_790_000_000_123, alphabet: "base64" }, "9cbI1oq/"],
    ["V7", { epochMs: 1_800_000_000_000, ...bigEndian }, "paaotsWK"],
  ])("vector %s", (_, options, expected) => {
    expect(checksum({ device: "", ...options })).toBe(expected);
  });

  test("the device follows the clock, as it is", () => {
    const machineId = "7ac1b8d7010bb6cd3a3e84e7f90136b880bbc899e428ece49333372911ab9052";
    expect(checksum({ device: machineId, epochMs: V1 })).toBe(`Vfb45Bi9${machineId}`);
    expect(checksum({ device: "239f59ed/256d04db", epochMs: V1, clock: floorToHalfHour, ...bigEndian })).toBe(
      "paaotEjc239f59ed/256d04db",
    );
  });
});
