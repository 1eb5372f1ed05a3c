/**
 * Options of `x-cursor-checksum`: eight base64 characters of a scrambled coarse clock, then the device. The vendor's
 * SDK sends none and the backend does not require it, so it is sent only if configured.
 */
export interface ChecksumOptions {
  /** `machineId`, or `machineId/macMachineId`. Keep it stable: the backend counts devices by it. */
  readonly device: string;
  readonly epochMs?: number;
  /**
   * How the clock becomes six bytes. `wrapped` is what the vendor's JavaScript emits, since `>>` counts modulo 32.
   * `big-endian` is what ports to other languages emit.
   */
  readonly bytes?: "wrapped" | "big-endian";
  readonly alphabet?: "base64url" | "base64";
  /** Maps the time to the one to encode. Default: unchanged. */
  readonly clock?: (epochMs: number) => number;
}

const TICK_MS = 1_000_000;
const HALF_HOUR_MS = 30 * 60_000;

/** Rounds down to half hours of UTC. Some clients use local time, which differs only in odd zones. */
export const floorToHalfHour = (epochMs: number): number => epochMs - (epochMs % HALF_HOUR_MS);

export function checksum(options: ChecksumOptions): string {
  const { device, epochMs = Date.now(), bytes = "wrapped", alphabet = "base64url", clock } = options;
  const ticks = Math.floor((clock ? clock(epochMs) : epochMs) / TICK_MS);
  const plain = Buffer.alloc(6);
  plain.writeUIntBE(ticks, 0, 6);
  if (bytes === "wrapped") plain.copyWithin(0, 4, 6);
  return scramble(plain).toString(alphabet) + device;
}

function scramble(plain: Buffer): Buffer {
  let key = 165;
  return plain.map((byte, index) => {
    key = ((byte ^ key) + index) & 0xff;
    return key;
  }) as Buffer;
}
