import { create, toBinary } from "@bufbuild/protobuf";
import { type BidiAppendRequest, BidiAppendRequestSchema } from "../../gen/aiserver/v1/bidi_pb.ts";

/** One client message of a run over HTTP/1.1, as `BidiAppend` carries it. */
export interface Append {
  readonly requestId: string;
  /** Counts from 0. */
  readonly seqno: bigint;
  readonly payload: Uint8Array;
}

/** Encodes the payload as hex, which every backend reads. */
export function encodeAppend({ requestId, seqno, payload }: Append): Uint8Array {
  const data = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("hex");
  const message = create(BidiAppendRequestSchema, { requestId: { requestId }, appendSeqno: seqno, data });
  return toBinary(BidiAppendRequestSchema, message);
}

/** Reads an append in either encoding; {@link findAppendProblem} says whether it is valid. */
export const readAppend = ({ requestId, appendSeqno, data, dataBinary }: BidiAppendRequest): Append => ({
  requestId: requestId?.requestId ?? "",
  seqno: appendSeqno,
  payload: dataBinary.length > 0 ? dataBinary : Buffer.from(data, "hex"),
});

/** Returns the problem of an append, or undefined. */
export function findAppendProblem({ requestId, data }: BidiAppendRequest): string | undefined {
  if (!requestId?.requestId) return "BidiAppendRequest.request_id is missing.";
  return /^(?:[0-9a-f]{2})*$/i.test(data) ? undefined : "BidiAppendRequest.data: this is not hex.";
}
