const TICK_MS = 1_000_000;

/**
 * Returns the `x-cursor-checksum`: eight base64 characters of a scrambled coarse clock, then the device (`machineId`, or
 * `machineId/macMachineId`). Keep the device stable: the backend counts devices by it. The vendor's SDK sends none and the
 * backend does not require it, so only the older calls send it.
 */
export function checksum(device: string, epochMs: number): string {
  const plain = Buffer.alloc(6);
  plain.writeUIntBE(Math.floor(epochMs / TICK_MS), 0, 6);
  // As the vendor's JavaScript does: `>>` counts modulo 32 there.
  plain.copyWithin(0, 4, 6);
  let key = 165;
  const scrambled = plain.map((byte, index) => {
    key = ((byte ^ key) + index) & 0xff;
    return key;
  });
  return Buffer.from(scrambled).toString("base64url") + device;
}
