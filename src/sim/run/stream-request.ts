import { gunzipSync } from "node:zlib";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { BidiRequestIdSchema } from "../../gen/aiserver/v1/bidi_pb.ts";
import type { JsonRun } from "../../wire/agent/json-run.ts";
import type { Uplink } from "../../wire/agent/rendezvous.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { FLAG_COMPRESSED, FrameDecoder } from "../../wire/connect/envelope.ts";
import { FrameWriter as StreamWriter, streamFormat } from "../../wire/connect/frame-writer.ts";
import { type Account, authenticate } from "../accounts.ts";
import type { Backend } from "../backend.ts";
import type { FrameWriter } from "../frame-writer.ts";
import { decodeBinary } from "../rpc.ts";
import type { SimExchange } from "../sim-exchange.ts";

const MAX_FRAME_BYTES = 64 << 20;

/** How long a download waits for its first upload before it sends headers. */
const FIRST_UPLOAD_MS = 100;

export type OpenRun = (
  backend: Backend,
  account: Account,
  requestId: string,
  out: FrameWriter,
) => Uplink<ConnectFailure>;

/**
 * Serves a bidirectional stream. Over HTTP/1.1 it answers 464, like the load balancers of the real backend. With `json` its
 * client may speak JSON.
 */
export function serveBidi(exchange: SimExchange, backend: Backend, open: OpenRun, json?: JsonRun): void {
  if (exchange.transport === "h1") {
    exchange.respond(464, "", {});
    return;
  }
  const begun = beginStream(exchange, backend, json);
  if (!begun) return;
  const run = open(backend, begun.account, exchange.header("x-request-id") ?? "", begun.out);
  const decode = (begun.out.format === "connect-json" && json?.decode) || ((payload: Uint8Array) => payload);
  const decoder = new FrameDecoder({ maxFrameBytes: MAX_FRAME_BYTES });
  exchange.request.on("data", (chunk: Buffer) => {
    try {
      decoder.push(chunk, (flags, payload) =>
        run.receive(decode(flags & FLAG_COMPRESSED ? inflate(payload) : payload)),
      );
    } catch (error) {
      run.stop(unreadable(error, "The stream"));
    }
  });
}

/** Serves the download half over HTTP/1.1. One frame names the run; uploads come separately. */
export async function serveDownload(exchange: SimExchange, backend: Backend, open: OpenRun): Promise<void> {
  const begun = beginStream(exchange, backend);
  if (!begun) return;
  const { account, out } = begun;
  const requestId = await readRequestId(exchange);
  await backend.rendezvous.waitForFirst(requestId, FIRST_UPLOAD_MS);
  if (exchange.isOver) {
    // The client disconnected before the run began, so the run would never notice.
    backend.rendezvous.leave(requestId);
    return;
  }
  const run = open(backend, account, requestId, out);
  exchange.onOver(() => backend.rendezvous.leave(requestId));
  // Some clients wait for the headers before they upload anything. If the first upload is here, the run decides.
  if (!backend.rendezvous.hasFirst(requestId)) out.open();
  backend.rendezvous.join(requestId, run);
}

/** Checks what every stream needs. A bad token is reported in the stream, a wrong content type as 415. */
export function beginStream(
  exchange: SimExchange,
  { openRuns }: Backend,
  json?: JsonRun,
): { account: Account; out: FrameWriter } | undefined {
  const format = streamFormat(exchange.header("content-type"));
  const isJson = format === "connect-json";
  if (!format || (isJson && !json)) {
    exchange.respond(415, "", { "accept-post": "application/connect+proto" });
    return undefined;
  }
  const out = new StreamWriter(exchange, format, isJson ? json?.encode : undefined);
  openRuns.add(exchange);
  exchange.onOver(() => openRuns.delete(exchange));
  try {
    return { account: authenticate(exchange), out };
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error;
    out.end(error);
    return undefined;
  }
}

async function readRequestId(exchange: SimExchange): Promise<string> {
  const { requestId } = await readFirstMessage(exchange, BidiRequestIdSchema);
  const id = requestId || exchange.header("x-request-id");
  if (!id) throw new ConnectFailure("invalid_argument", "BidiRequestId.request_id is missing.");
  return id;
}

/** Reads the only message of a request with a streamed response. */
export async function readFirstMessage<D extends DescMessage>(
  exchange: SimExchange,
  schema: D,
): Promise<MessageShape<D>> {
  const body = await exchange.readBody(MAX_FRAME_BYTES);
  let first: Uint8Array | undefined;
  try {
    new FrameDecoder({ maxFrameBytes: MAX_FRAME_BYTES }).push(body, (flags, payload) => {
      first ??= flags & FLAG_COMPRESSED ? inflate(payload) : payload;
    });
    if (first) return decodeBinary(schema, first);
  } catch (error) {
    throw unreadable(error, schema.name);
  }
  throw new ConnectFailure("invalid_argument", "The request holds no whole frame.");
}

function inflate(payload: Uint8Array): Uint8Array {
  try {
    return gunzipSync(payload, { maxOutputLength: MAX_FRAME_BYTES });
  } catch {
    throw new ConnectFailure("invalid_argument", "A frame is not valid gzip.");
  }
}

function unreadable(error: unknown, name: string): ConnectFailure {
  if (error instanceof ConnectFailure) return error;
  return new ConnectFailure("invalid_argument", `${name}: ${error instanceof Error ? error.message : error}`);
}
