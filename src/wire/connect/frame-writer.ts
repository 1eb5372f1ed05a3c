import { gzipSync } from "node:zlib";
import type { ServerExchange } from "../http/server-exchange.ts";
import { type ConnectFailure, grpcStatus } from "./connect-failure.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END } from "./envelope.ts";

/**
 * How messages are encoded, and how the frames of a streamed answer end: Connect closes with JSON, grpc-web with a block of
 * trailers.
 */
export type StreamFormat = "connect" | "connect-json" | "grpc-web";

const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  connect: "application/connect+proto",
  "connect-json": "application/connect+json",
  "grpc-web": "application/grpc-web+proto",
};

const GRPC_WEB_TRAILERS = 0x80;

/** The format a streaming request asks for by its content type, or undefined if it is none. */
export function streamFormat(contentType: string | undefined): StreamFormat | undefined {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "application/connect+proto") return "connect";
  if (type === "application/connect+json") return "connect-json";
  if (type === "application/grpc-web+proto" || type === "application/grpc-web") return "grpc-web";
  return undefined;
}

/** Writes a streamed answer, frame by frame. */
export class FrameWriter<Carrier extends ServerExchange = ServerExchange> {
  readonly exchange: Carrier;
  readonly format: StreamFormat;
  isCompressing = false;
  contentType: string;
  /** What the end frame said was wrong; undefined before it, and where all went well. */
  failure: ConnectFailure | undefined;

  readonly #encode: (payload: Uint8Array) => Uint8Array;

  /** `encode` translates messages from protobuf, for a format that is not. */
  constructor(
    exchange: Carrier,
    format: StreamFormat,
    encode: (payload: Uint8Array) => Uint8Array = (payload) => payload,
  ) {
    this.exchange = exchange;
    this.format = format;
    this.contentType = CONTENT_TYPES[format];
    this.#encode = encode;
  }

  /** Sends the response headers; from here on, failures travel in the end frame. */
  open(): void {
    const takesGzip = /\bgzip\b/.test(this.exchange.header("connect-accept-encoding") ?? "");
    this.exchange.open(200, {
      "content-type": this.contentType,
      ...(takesGzip ? { "connect-content-encoding": "gzip" } : {}),
    });
  }

  /** One message. False if the reader is behind: wait for `exchange.drained()`. */
  send(payload: Uint8Array): boolean {
    const encoded = this.#encode(payload);
    if (!this.isCompressing) return this.exchange.write(encodeFrame(encoded));
    return this.exchange.write(encodeFrame(gzipSync(encoded), FLAG_COMPRESSED));
  }

  /** The end frame, then the end. */
  end(failure?: ConnectFailure): void {
    this.failure = failure;
    this.open();
    this.exchange.end(
      this.format === "grpc-web"
        ? grpcTrailers(failure)
        : encodeFrame(failure?.toEndFrame() ?? Buffer.from("{}"), FLAG_END),
    );
  }
}

/** Returns the frame that ends a grpc-web stream. */
export function grpcTrailers(failure?: ConnectFailure): Buffer {
  const lines = failure
    ? [
        `grpc-status: ${grpcStatus(failure.code)}`,
        `grpc-message: ${encodeURIComponent(failure.message)}`,
        ...Object.entries(failure.metadata).map(([name, value]) => `${name}: ${value}`),
      ]
    : ["grpc-status: 0"];
  return encodeFrame(Buffer.from(`${lines.join("\r\n")}\r\n`), GRPC_WEB_TRAILERS);
}
