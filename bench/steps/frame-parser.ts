import { encodeFrame, FrameDecoder } from "../../src/wire/connect/envelope.ts";
import { type BenchResult, interleave, medianRatio } from "../harness/measure.ts";

const MiB = 1024 * 1024;

/** SEC-21: parsing is linear in the bytes and holds little memory, even one byte at a time. */
export async function measureFrameParser(): Promise<BenchResult[]> {
  const small = encodeFrame(Buffer.alloc(4 * MiB));
  const large = encodeFrame(Buffer.alloc(8 * MiB));
  const times = interleave({ small: () => pushBytes(small), large: () => pushBytes(large) });
  return [
    { name: "frame parser: 8 MiB / 4 MiB, by single bytes", value: medianRatio(times.large, times.small), bound: 2.3 },
    { name: "frame parser: bytes held / largest frame", value: pushBytes(large) / large.length, bound: 2 },
  ];
}

/** Pushes a frame byte by byte. Returns the most bytes held at once, with old and new buffer during a growth. */
function pushBytes(frame: Uint8Array): number {
  const decoder = new FrameDecoder({ maxFrameBytes: frame.length });
  let [held, most, frames] = [0, 0, 0];
  const onFrame = () => {
    frames++;
  };
  for (let at = 0; at < frame.length; at++) {
    decoder.push(frame.subarray(at, at + 1), onFrame);
    const now = decoder.heldBytes;
    if (now > held) most = Math.max(most, held + now);
    held = now;
  }
  if (frames !== 1) throw new Error(`expected one frame, got ${frames}`);
  return most;
}
