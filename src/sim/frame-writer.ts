import { gzipSync } from "node:zlib";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END } from "../wire/connect/envelope.ts";
import { type ConnectFailure, grpcStatus } from "./connect-failure.ts";
import type { Exchange } from "./exchange.ts";

/** The end of a streamed response: JSON for Connect, a block of trailers for grpc-web. */
export type StreamFormat = "connect" | "grpc-web";

const GRPC_WEB_TRAILERS = 0x80;

/** Returns the format for a request's content type; undefined if it is no stream. */
export function streamFormat(contentType: string | undefined): StreamFormat | undefined {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "application/connect+proto") return "connect";
  if (type === "application/grpc-web+proto" || type === "application/grpc-web") return "grpc-web";
  return undefined;
}

export class FrameWriter {
  readonly exchange: Exchange;
  readonly format: StreamFormat;
  isCompressing = false;
  /** The error in the end frame. Undefined before the end, and on success. */
  failure: ConnectFailure | undefined;

  constructor(exchange: Exchange, format: StreamFormat) {
    this.exchange = exchange;
    this.format = format;
  }

  /** Sends the response headers. After that, failures go into the end frame. */
  open(): void {
    const takesGzip = /\bgzip\b/.test(this.exchange.header("connect-accept-encoding") ?? "");
    this.exchange.open(200, {
      "content-type": this.format === "connect" ? "application/connect+proto" : "application/grpc-web+proto",
      ...(takesGzip ? { "connect-content-encoding": "gzip" } : {}),
    });
  }

  /** Sends one message. Returns false if the client reads too slowly: wait for `exchange.drained()`. */
  send(payload: Uint8Array): boolean {
    if (!this.isCompressing) return this.exchange.write(encodeFrame(payload));
    return this.exchange.write(encodeFrame(gzipSync(payload), FLAG_COMPRESSED));
  }

  end(failure?: ConnectFailure): void {
    this.failure = failure;
    this.open();
    this.exchange.end(
      this.format === "connect"
        ? encodeFrame(failure?.toEndFrame() ?? Buffer.from("{}"), FLAG_END)
        : grpcTrailers(failure),
    );
  }
}

function grpcTrailers(failure: ConnectFailure | undefined): Buffer {
  const lines = failure
    ? [
        `grpc-status: ${grpcStatus(failure.code)}`,
        `grpc-message: ${encodeURIComponent(failure.message)}`,
        ...Object.entries(failure.metadata).map(([name, value]) => `${name}: ${value}`),
      ]
    : ["grpc-status: 0"];
  return encodeFrame(Buffer.from(`${lines.join("\r\n")}\r\n`), GRPC_WEB_TRAILERS);
}
