import { ExcursorError } from "../../core/errors.ts";
import { CONNECT_CODES } from "../agent/cursor-errors.ts";
import { jsonObject } from "../json.ts";
import { fromConnectError, type Metadata } from "./connect-error.ts";

/** How a stream ended, according to the backend. */
export interface EndOfStream {
  readonly error: ExcursorError | undefined;
  readonly metadata: Metadata;
}

/**
 * Parses an end frame: `{}`, or `{"error":{…},"metadata":{"name":["value"]}}`. Never throws: an invalid end is an error
 * of the stream.
 */
export function parseEndOfStream(payload: Uint8Array): EndOfStream {
  if (isEmptyObject(payload)) return ENDED;
  let end: Readonly<{ error?: unknown; metadata?: unknown }> | undefined;
  try {
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("utf8");
    end = jsonObject<"error" | "metadata">(JSON.parse(text));
  } catch (cause) {
    return { error: invalidEnd(cause), metadata: {} };
  }
  if (!end) return { error: invalidEnd(), metadata: {} };
  const metadata = parseMetadata(end.metadata);
  if (end.error === undefined || end.error === null) return { error: undefined, metadata };
  return { error: fromConnectError(end.error, { metadata, fallback: CONNECT_CODES.unknown }), metadata };
}

const ENDED: EndOfStream = { error: undefined, metadata: Object.freeze(Object.create(null)) };

/** True for `{}`, the usual end. */
const isEmptyObject = (payload: Uint8Array): boolean =>
  payload.length === 2 && payload[0] === 0x7b && payload[1] === 0x7d;

function parseMetadata(value: unknown): Metadata {
  const metadata: Record<string, readonly string[]> = Object.create(null);
  for (const [name, values] of Object.entries(jsonObject(value) ?? {})) {
    if (!Array.isArray(values)) continue;
    metadata[name.toLowerCase()] = values.filter((entry) => typeof entry === "string");
  }
  return metadata;
}

function invalidEnd(cause?: unknown): ExcursorError {
  return new ExcursorError("end_invalid", [], { cause });
}
