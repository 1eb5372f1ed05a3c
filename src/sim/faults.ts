import { constants } from "node:http2";
import { gzipSync } from "node:zlib";
import { ErrorDetails_Error } from "../gen/aiserver/v1/error_pb.ts";
import { ConnectFailure } from "../wire/connect/connect-failure.ts";
import { encodeFrame, FLAG_COMPRESSED } from "../wire/connect/envelope.ts";
import type { FrameWriter } from "./frame-writer.ts";
import type { FaultStep } from "./script/step.ts";

/** Faults that take effect later in the response. */
export interface Oddities {
  keepsOpen: boolean;
  hasLateCheckpoint: boolean;
  /** No settled checkpoint follows the end of the turn. */
  hasNoSettled: boolean;
  hasNoUsage: boolean;
  repeatsNextRequest: boolean;
  /** The stream ends after the next calls, without their results. */
  endsAfterCalls: boolean;
  /** The time between the calls of the next batch. */
  callIntervalMs: number;
  /** What the end frame of a finished turn says. */
  lastFailure: ConnectFailure | undefined;
}

export const noOddities = (): Oddities => ({
  keepsOpen: false,
  hasLateCheckpoint: false,
  hasNoSettled: false,
  hasNoUsage: false,
  repeatsNextRequest: false,
  endsAfterCalls: false,
  callIntervalMs: 0,
  lastFailure: undefined,
});

/** The state after a fault: the response continues, has ended, or hangs silently. */
export type FaultOutcome = "goes-on" | "gone" | "hangs";

const BOMB_BYTES = 64 << 20;
const CALL_INTERVAL_MS = 1000;

const providerError = () =>
  new ConnectFailure("unavailable", "Error", {
    details: {
      error: ErrorDetails_Error.PROVIDER_ERROR,
      title: "Provider Error",
      detail: "The model's provider failed.",
    },
    metadata: { "x-cursor-inference-request-error-type": "PROVIDER_ERROR" },
  });

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
    case "no-settled":
      oddities.hasNoSettled = true;
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
    case "slow-batch":
      oddities.callIntervalMs = step.ms ?? CALL_INTERVAL_MS;
      return "goes-on";
    case "error-after-end":
      oddities.lastFailure = providerError();
      return "goes-on";
    case "sse-type":
      // It changes the headers, so it is done before the stream or not at all.
      return "goes-on";
    default:
      return step.fault satisfies never;
  }
}
