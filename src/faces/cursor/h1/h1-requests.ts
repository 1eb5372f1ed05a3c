import { fromBinary } from "@bufbuild/protobuf";
import {
  BidiAppendRequestSchema,
  BidiPollRequestSchema,
  BidiRequestIdSchema,
} from "../../../gen/aiserver/v1/bidi_pb.ts";
import { type Append, findAppendProblem, readAppend } from "../../../wire/agent/bidi-append.ts";
import { FLAG_COMPRESSED, FrameDecoder } from "../../../wire/connect/envelope.ts";
import { gunzip } from "../../../wire/connect/gzip.ts";
import { mediaType } from "../../../wire/http/http-errors.ts";
import type { ServerExchange } from "../../../wire/http/server-exchange.ts";
import { MAX_MESSAGE_BYTES } from "../h2-run.ts";
import type { Held } from "../relay.ts";

/** An append is hex text. */
export const MAX_APPEND_BYTES = 2 * MAX_MESSAGE_BYTES + 1024;
export const MAX_DOWNLOAD_BYTES = 64 * 1024;

/** A body that takes longer is passed on. */
const HELD_MS = 30_000;

/** Reads a body as far as there is room and time. The rest stays in the request. Undefined if the client is gone. */
export function readHeld(exchange: ServerExchange, maxBytes: number): Promise<Held | undefined> {
  const { request } = exchange;
  if (exchange.isBodyless) {
    request.resume();
    return Promise.resolve(exchange.isOver ? undefined : { chunks: [], isWhole: true });
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    const settle = (held: Held | undefined) => {
      clearTimeout(late);
      request.off("data", onData).off("end", onEnd).pause();
      resolve(held);
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes || !exchange.hold(chunk.length)) settle({ chunks, isWhole: false });
    };
    const late = setTimeout(() => settle({ chunks, isWhole: false }), HELD_MS).unref();
    const onEnd = () => settle({ chunks, isWhole: true });
    request.on("data", onData).on("end", onEnd);
    exchange.onOver(() => settle(undefined));
  });
}

/** Returns undefined if the upload is not one that we can read: then it is the backend's. */
export async function readUpload(exchange: ServerExchange, { chunks, isWhole }: Held): Promise<Append | undefined> {
  if (!isWhole || mediaType(exchange.header("content-type")) !== "application/proto") return undefined;
  const body = Buffer.concat(chunks);
  try {
    const isGzip = exchange.header("content-encoding") === "gzip";
    if (isGzip && !exchange.hold(MAX_APPEND_BYTES)) return undefined;
    const plain = isGzip ? gunzip(body, MAX_APPEND_BYTES).finally(() => exchange.release(MAX_APPEND_BYTES)) : body;
    const request = fromBinary(BidiAppendRequestSchema, await plain);
    return findAppendProblem(request) === undefined ? readAppend(request) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the id of the run that a download, in one stream or (`poll`) in pieces, is for. */
export function readRequestId(exchange: ServerExchange, { chunks }: Held, kind: "stream" | "poll"): string | undefined {
  const read = (payload: Uint8Array) =>
    kind === "stream"
      ? fromBinary(BidiRequestIdSchema, payload).requestId
      : fromBinary(BidiPollRequestSchema, payload).requestId?.requestId;
  let id: string | undefined;
  try {
    new FrameDecoder({ maxFrameBytes: MAX_DOWNLOAD_BYTES }).push(Buffer.concat(chunks), (flags, payload) => {
      if ((flags & FLAG_COMPRESSED) === 0) id ??= read(payload);
    });
  } catch {
    return undefined;
  }
  return id || exchange.header("x-request-id");
}
