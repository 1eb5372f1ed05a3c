import { gunzipSync } from "node:zlib";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import type { Awaitable } from "../core/awaitable.ts";
import { ConnectFailure } from "../wire/connect/connect-failure.ts";
import type { SimExchange } from "./sim-exchange.ts";

const MAX_BODY_BYTES = 64 << 20;

/** Serves one unary call, as protobuf or JSON. An enveloped body gets 415: the client takes the method for a stream. */
export async function serveUnary<I extends DescMessage, O extends DescMessage>(
  exchange: SimExchange,
  method: DescMethodUnary<I, O>,
  answer: (input: MessageShape<I>) => Awaitable<MessageInitShape<O>>,
): Promise<void> {
  const codec = unaryCodec(exchange.header("content-type"));
  if (!codec) {
    exchange.respond(415, "", { "accept-post": "application/proto, application/json" });
    return;
  }
  const body = await readUnaryBody(exchange);
  const input = decode(method.input, codec, body);
  const output = create(method.output, await answer(input));
  if (codec === "json") exchange.respondJson(200, toJson(method.output, output));
  else exchange.respond(200, toBinary(method.output, output), { "content-type": "application/proto" });
}

function unaryCodec(contentType: string | undefined): "proto" | "json" | undefined {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "application/json") return "json";
  // Some clients send an empty message without a content type.
  return type === "application/proto" || type === undefined || type === "" ? "proto" : undefined;
}

async function readUnaryBody(exchange: SimExchange): Promise<Buffer> {
  const body = await exchange.readBody(MAX_BODY_BYTES);
  if (exchange.header("content-encoding") !== "gzip") return body;
  try {
    return gunzipSync(body, { maxOutputLength: MAX_BODY_BYTES });
  } catch {
    throw new ConnectFailure("invalid_argument", "The body is not valid gzip.");
  }
}

function decode<I extends DescMessage>(schema: I, codec: "proto" | "json", body: Buffer): MessageShape<I> {
  try {
    if (codec === "proto") return decodeBinary(schema, body);
    const json = (body.length === 0 ? {} : JSON.parse(body.toString("utf8"))) as JsonValue;
    return fromJson(schema, json, { ignoreUnknownFields: true });
  } catch (error) {
    if (error instanceof ConnectFailure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConnectFailure("invalid_argument", `cannot decode ${schema.typeName} from JSON: ${reason}`);
  }
}

/** Decodes a message. Bytes that are no protobuf are `internal`, as at the real backend. */
export function decodeBinary<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    throw new ConnectFailure("internal", `parse binary: ${error instanceof Error ? error.message : error}`);
  }
}

/** Sends a unary failure: the HTTP status of the code, and the error as JSON. */
export function respondFailure(exchange: SimExchange, failure: ConnectFailure): void {
  exchange.respondJson(failure.httpStatus, failure.toConnectJson(), failure.metadata);
}

/** Converts what a handler threw. An unknown error is a bug of the simulator; its message is not sent to clients. */
export function failureFrom(thrown: unknown): ConnectFailure {
  if (thrown instanceof ConnectFailure) return thrown;
  const kind = thrown instanceof Error ? ` (${thrown.name})` : "";
  return new ConnectFailure("internal", `The simulator failed${kind}. This is a bug of its own.`);
}
