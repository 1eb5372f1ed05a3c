import { constants } from "node:http2";
import { gzipSync } from "node:zlib";
import { encodeFrame, FLAG_COMPRESSED } from "../wire/connect/envelope.ts";
import type { FrameWriter } from "./frame-writer.ts";
import type { FaultStep } from "./script/step.ts";

/** Faults that take effect later in the response. */
export interface Oddities {
  keepsOpen: boolean;
  hasLateCheckpoint: boolean;
  /** The next calls are followed by a checkpoint without their results. */
  hasEarlyCheckpoint: boolean;
  hasNoUsage: boolean;
  repeatsNextRequest: boolean;
  /** The stream ends after the next calls, without their results. */
  endsAfterCalls: boolean;
}

export const noOddities = (): Oddities => ({
  keepsOpen: false,
  hasLateCheckpoint: false,
  hasEarlyCheckpoint: false,
  hasNoUsage: false,
  repeatsNextRequest: false,
  endsAfterCalls: false,
});

/** The state after a fault: the response continues, has ended, or hangs silently. */
export type FaultOutcome = "goes-on" | "gone" | "hangs";

const BOMB_BYTES = 64 << 20;

/** Injects a fault, after everything sent before it has arrived. */
export async function inject(step: FaultStep, out: FrameWriter, oddities: Oddities): Promise<FaultOutcome> {
  const { exchange } = out;
  await exchange.delivered();
  switch (step.fault) {
    case "rst":
      exchange.reset(step.code);
      return "gone";
    case "refused":
      exchange.reset(constants.NGHTTP2_REFUSED_STREAM);
      return "gone";
    case "tcp-reset":
      exchange.resetConnection();
      return "gone";
    case "truncate":
      exchange.write(encodeFrame(Buffer.alloc(64)).subarray(0, 20));
      exchange.truncate();
      return "gone";
    case "stall":
      return "hangs";
    case "oversize":
      exchange.write(Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff));
      return "hangs";
    case "goaway":
      exchange.goaway(step.code);
      return "goes-on";
    case "garbage":
      // A tag of wire type 7, which protobuf does not have.
      exchange.write(encodeFrame(Buffer.alloc(16, 0xff)));
      return "goes-on";
    case "gzip":
      out.isCompressing = true;
      return "goes-on";
    case "gzip-bomb":
      exchange.write(encodeFrame(gzipSync(Buffer.alloc(BOMB_BYTES)), FLAG_COMPRESSED));
      return "goes-on";
    case "split":
      exchange.splitBytes();
      return "goes-on";
    case "end-without-turn-ended":
      out.end();
      return "gone";
    case "keep-open":
      oddities.keepsOpen = true;
      return "goes-on";
    case "late-checkpoint":
      oddities.hasLateCheckpoint = true;
      return "goes-on";
    case "early-checkpoint":
      oddities.hasEarlyCheckpoint = true;
      return "goes-on";
    case "no-usage":
      oddities.hasNoUsage = true;
      return "goes-on";
    case "dup-frame":
      oddities.repeatsNextRequest = true;
      return "goes-on";
    case "end-after-calls":
      oddities.endsAfterCalls = true;
      return "goes-on";
    default:
      return step.fault satisfies never;
  }
}
