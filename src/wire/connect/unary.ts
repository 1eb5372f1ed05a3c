import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromJsonString,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { ExcursorError } from "../../core/errors.ts";
import type { HttpRequest, HttpTransport } from "../http/http.ts";
import { callHttp } from "../http/http-call.ts";
import { fromFailedResponse, mediaType, wrongContentType } from "../http/http-errors.ts";
import { type WireLimits, wireLimits } from "../limits.ts";
import { decodeMessage } from "./decode-message.ts";

interface CallOptions {
  readonly transport: HttpTransport;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly limits?: Partial<WireLimits>;
}

export interface UnaryOptions<Input extends DescMessage, Output extends DescMessage> extends CallOptions {
  readonly method: DescMethodUnary<Input, Output>;
  readonly input: MessageInitShape<Input>;
  /** Default: by the headers' content type. */
  readonly codec?: "proto" | "json";
}

/**
 * Calls a unary method: a bare message as the body, without an envelope; an empty message is an empty body. Takes the
 * headers of `callHeaders("unary-proto")` or `callHeaders("unary-json")`.
 */
export async function callUnary<Input extends DescMessage, Output extends DescMessage>(
  options: UnaryOptions<Input, Output>,
): Promise<MessageShape<Output>> {
  const { method, input } = options;
  const isJson = (options.codec ?? codecOf(options.headers)) === "json";
  const message = create(method.input, input);
  const body = isJson ? Buffer.from(toJsonString(method.input, message)) : toBinary(method.input, message);
  const type = isJson ? "application/json" : "application/proto";
  const answer = await call(options, type, body, {
    method: "POST",
    path: `/${method.parent.typeName}/${method.name}`,
    headers: { ...options.headers, "content-type": type },
  });
  if (!isJson) return decodeMessage(method.output, answer);
  return parseJson(answer, (text) => fromJsonString(method.output, text || "{}", { ignoreUnknownFields: true }));
}

export interface JsonOptions extends CallOptions {
  readonly path: string;
  /** Default: POST with a body, GET without. */
  readonly method?: "GET" | "POST";
  /** Any JSON value. */
  readonly body?: unknown;
}

/** Calls a plain JSON endpoint. The result is unchecked. */
export async function requestJson(options: JsonOptions): Promise<unknown> {
  const type = "application/json";
  const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
  const answer = await call(options, type, body, {
    method: options.method ?? (body ? "POST" : "GET"),
    path: options.path,
    headers: { accept: type, ...(body && { "content-type": type }), ...options.headers },
  });
  return parseJson(answer, JSON.parse);
}

async function call(
  options: CallOptions,
  type: string,
  body: Uint8Array | undefined,
  request: Omit<HttpRequest, "origin">,
): Promise<Buffer> {
  const { transport, origin, timeoutMs, signal } = options;
  const { head, body: answer } = await callHttp({
    transport,
    request: { origin, ...request },
    body,
    limits: wireLimits(options.limits),
    timeoutMs,
    signal,
  });
  if (head.status !== 200) throw fromFailedResponse(head, answer);
  if (mediaType(head.headers["content-type"]) !== type) throw wrongContentType(head);
  return answer;
}

function codecOf(headers: Readonly<Record<string, string>>): "proto" | "json" {
  return mediaType(headers["content-type"]) === "application/json" ? "json" : "proto";
}

function parseJson<T>(bytes: Buffer, parse: (text: string) => T): T {
  try {
    return parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new ExcursorError("json_invalid", [], { cause });
  }
}
