import { crc32 } from "node:zlib";
import type { CapturedMessage, CaptureRecord } from "./records.ts";

/**
 * The file: a line of text, then records. A record is a header of 24 bytes and a payload. A reader that looks for one
 * conversation skips payloads by their length, so its time is that of reading the file.
 *
 * ```
 * 0  mark      0xec
 * 1  type      1 call, 2 response, 3 message, 4 end, 5 note, 6 frames
 * 2  detail    of a message: direction and form; of frames: direction
 * 3  flags     of a message: those of its envelope
 * 4  call      uint32
 * 8  time      float64, milliseconds since the epoch
 * 16 length    uint32, of the payload
 * 20 checksum  CRC-32 of the payload
 * ```
 *
 * Calls and responses are a line of JSON, and their headers another one. Frames are messages that came together, each in
 * its envelope as on the wire, uncompressed. Before version 3, what looks like a secret was masked in the file.
 */
export const FIRST_LINE = "excursor-capture 3\n";
export const HEADER_BYTES = 24;
const MARK = 0xec;

const TYPES = { call: 1, response: 2, message: 3, end: 4, note: 5, frames: 6 } as const;
/** The first two bytes of each type. */
const FIRST_OF = {
  call: MARK | (TYPES.call << 8),
  message: MARK | (TYPES.message << 8),
  frames: MARK | (TYPES.frames << 8),
} as const;
const NAMES: readonly (CaptureRecord["type"] | undefined)[] = [undefined, "call", "response", "message", "end", "note"];
const FORMS = ["frame", "event", "body"] as const;
const RECEIVED = 0x80;
const COMPRESSED = 0x40;
const ENVELOPE_BYTES = 5;

/** Whole messages of one direction, each in its envelope. Readers make a message of each. */
export interface FramesRecord {
  readonly type: "frames";
  readonly call: number;
  readonly at: number;
  readonly direction: CapturedMessage["direction"];
  readonly bytes: Uint8Array;
}

export function encodeRecord(record: CaptureRecord | FramesRecord): readonly [Buffer, Uint8Array] {
  const payload = payloadOf(record);
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = MARK;
  header[1] = TYPES[record.type];
  if (record.type === "frames") header[2] = directionBit(record);
  if (record.type === "message") {
    header[2] = directionBit(record) | (record.wasCompressed ? COMPRESSED : 0) | FORMS.indexOf(record.form);
    header[3] = record.flags;
  }
  header.writeUInt32LE(record.call, 4);
  header.writeDoubleLE(record.at, 8);
  header.writeUInt32LE(payload.length, 16);
  header.writeUInt32LE(crc32(payload), 20);
  return [header, payload];
}

const directionBit = ({ direction }: Pick<CapturedMessage, "direction">): number =>
  direction === "received" ? RECEIVED : 0;

function payloadOf(record: CaptureRecord | FramesRecord): Uint8Array {
  switch (record.type) {
    case "frames":
    case "message":
      return record.bytes;
    case "note":
      return Buffer.from(JSON.stringify(record.note));
    case "end":
      return Buffer.from(JSON.stringify(record.end));
    default: {
      const { headers, ...rest } = record.head;
      return Buffer.from(`${JSON.stringify(rest)}\n${JSON.stringify(headers)}`);
    }
  }
}

/** These read a record's header at a place, without making an object of it. The first two bytes are read at once. */
export const isHeaderAt = (view: DataView, at: number): boolean => {
  const first = view.getUint16(at, true);
  return (first & 0xff) === MARK && first >= FIRST_OF.call && first <= FIRST_OF.frames;
};
export const isMessageAt = (view: DataView, at: number): boolean => view.getUint16(at, true) === FIRST_OF.message;
export const isFramesAt = (view: DataView, at: number): boolean => view.getUint16(at, true) === FIRST_OF.frames;
export const callAt = (view: DataView, at: number): number => view.getUint32(at + 4, true);
/** Frames are messages. */
export const typeAt = (view: DataView, at: number): CaptureRecord["type"] => NAMES[view.getUint8(at + 1)] ?? "message";
export const timeAt = (view: DataView, at: number): number => view.getFloat64(at + 8, true);
export const lengthAt = (view: DataView, at: number): number => view.getUint32(at + 16, true);

/** Undefined if the record is not the one that was written. Headers take most of the time, and are empty if not wanted. */
export function decodeRecord(
  view: DataView,
  place: number,
  payload: Buffer,
  wantsHeaders: boolean,
): CaptureRecord | undefined {
  if (isFramesAt(view, place) || !isWhole(view, place, payload)) return undefined;
  const [type, call, at] = [typeAt(view, place), callAt(view, place), timeAt(view, place)];
  if (type === "message") {
    const detail = view.getUint8(place + 2);
    const form = FORMS[detail & 0x0f];
    if (form === undefined) return undefined;
    const [flags, wasCompressed] = [view.getUint8(place + 3), (detail & COMPRESSED) !== 0];
    return { type, call, at, direction: directionAt(view, place), form, flags, wasCompressed, bytes: payload };
  }
  try {
    const record = decodeJson(type, call, at, payload, wantsHeaders);
    return isSound(record) ? record : undefined;
  } catch {
    // The checksum does not cover a record's own header, so its type may be damaged, and the payload no JSON.
    return undefined;
  }
}

function decodeJson(
  type: Exclude<CaptureRecord["type"], "message">,
  call: number,
  at: number,
  payload: Buffer,
  wantsHeaders: boolean,
): CaptureRecord {
  if (type === "note") return { type, call, at, note: parse(payload) };
  if (type === "end") return { type, call, at, end: parse(payload) };
  return { type, call, at, head: decodeHead(payload, wantsHeaders) };
}

/** True if the content is that of the record's type. Somebody else may have written it. */
function isSound(record: CaptureRecord): boolean {
  switch (record.type) {
    case "call": {
      const { method, origin, path, headers, transport, requestId = "" } = record.head;
      const isPlace = isText(origin) && isText(path) && path.startsWith("/") && URL.canParse(path, origin);
      const isHow = /^[A-Z]{1,20}$/.test(method) && (transport === "h1" || transport === "h2");
      return isPlace && isHow && isText(requestId) && areTexts(headers);
    }
    case "response":
      return Number.isInteger(record.head.status) && areTexts(record.head.headers);
    case "end": {
      const { outcome, cut = {}, trailers = {}, sentBytes, receivedBytes } = record.end;
      const { http2Code = 0 } = cut;
      return isText(outcome) && [sentBytes, receivedBytes, http2Code].every(Number.isFinite) && areTexts(trailers);
    }
    case "note": {
      const { note } = record;
      if (note.type === "omitted" && !Number.isFinite(note.bytes)) return false;
      return isText(note.type) && isText(note.type === "conversation" ? note.id : note.reason);
    }
    default:
      return true;
  }
}

const isText = (value: unknown): value is string => typeof value === "string";

const areTexts = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isText);

function decodeHead(payload: Buffer, wantsHeaders: boolean) {
  const end = payload.indexOf("\n");
  const head = parse(payload.subarray(0, end));
  head.headers = wantsHeaders ? parse(payload.subarray(end + 1)) : {};
  return head;
}

const parse = (payload: Buffer) => JSON.parse(payload.toString("utf8"));

/** The largest time that a date can have. */
const MAX_TIME_MS = 8.64e15;

const isWhole = (view: DataView, at: number, payload: Buffer): boolean =>
  crc32(payload) === view.getUint32(at + 20, true) && Math.abs(timeAt(view, at)) <= MAX_TIME_MS;

const directionAt = (view: DataView, at: number): CapturedMessage["direction"] =>
  view.getUint8(at + 2) & RECEIVED ? "received" : "sent";

/** A message among frames, and where its envelope is in their payload. */
export interface StoredFrame {
  readonly start: number;
  readonly message: Extract<CaptureRecord, { type: "message" }>;
}

/** Undefined if the payload is not the one that was written. */
export function decodeFrames(view: DataView, place: number, payload: Buffer): readonly StoredFrame[] | undefined {
  if (!isWhole(view, place, payload)) return undefined;
  const [call, at, direction] = [callAt(view, place), timeAt(view, place), directionAt(view, place)];
  const common = { type: "message", call, at, direction, form: "frame", wasCompressed: false } as const;
  const frames: StoredFrame[] = [];
  for (let start = 0; start + ENVELOPE_BYTES <= payload.length; ) {
    const from = start + ENVELOPE_BYTES;
    const end = from + payload.readUInt32BE(start + 1);
    const bytes = payload.subarray(from, end);
    frames.push({ start, message: { ...common, flags: payload[start] ?? 0, bytes } });
    start = end;
  }
  return frames;
}

/** Returns how many frames a payload has. */
export function countFrames(view: DataView, from: number, to: number): number {
  let count = 0;
  for (let at = from; at + ENVELOPE_BYTES <= to; count++) at += ENVELOPE_BYTES + view.getUint32(at + 1);
  return count;
}

/** Returns how many frames these bytes are, and the length of the longest. */
export function measureFrames(bytes: Uint8Array): { readonly count: number; readonly longest: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [count, longest] = [0, 0];
  for (let at = 0; at + ENVELOPE_BYTES <= bytes.length; count++) {
    const length = view.getUint32(at + 1);
    if (length > longest) longest = length;
    at += ENVELOPE_BYTES + length;
  }
  return { count, longest };
}
