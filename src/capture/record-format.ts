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
 * Frames are messages that came together, each in its envelope as on the wire, uncompressed. Version 1 has no such record.
 */
export const FIRST_LINE = "excursor-capture 2\n";
export const READABLE_LINES: readonly string[] = [FIRST_LINE, "excursor-capture 1\n"];
export const HEADER_BYTES = 24;
const MARK = 0xec;

const TYPES = { call: 1, response: 2, message: 3, end: 4, note: 5, frames: 6 } as const;
const NAMES = Object.fromEntries(Object.entries(TYPES).map(([name, number]) => [number, name])) as Readonly<
  Record<number, keyof typeof TYPES | undefined>
>;
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

/** A record without its payload. */
export interface RecordHeader {
  readonly type: keyof typeof TYPES;
  readonly detail: number;
  readonly flags: number;
  readonly call: number;
  readonly at: number;
  readonly length: number;
  readonly checksum: number;
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
    default:
      return Buffer.from(JSON.stringify(record.head));
  }
}

/** These read a record's header at a place, without making an object of it. */
export const isHeaderAt = (view: DataView, at: number): boolean => {
  const type = view.getUint8(at + 1);
  return view.getUint8(at) === MARK && type >= TYPES.call && type <= TYPES.frames;
};
export const isMessageAt = (view: DataView, at: number): boolean => view.getUint8(at + 1) === TYPES.message;
export const isFramesAt = (view: DataView, at: number): boolean => view.getUint8(at + 1) === TYPES.frames;
export const callAt = (view: DataView, at: number): number => view.getUint32(at + 4, true);
export const lengthAt = (view: DataView, at: number): number => view.getUint32(at + 16, true);

/** Undefined if these bytes are no header. */
export function decodeHeader(bytes: Buffer): RecordHeader | undefined {
  const type = NAMES[bytes[1] ?? 0];
  if (bytes[0] !== MARK || type === undefined) return undefined;
  return {
    type,
    detail: bytes[2] ?? 0,
    flags: bytes[3] ?? 0,
    call: bytes.readUInt32LE(4),
    at: bytes.readDoubleLE(8),
    length: bytes.readUInt32LE(16),
    checksum: bytes.readUInt32LE(20),
  };
}

/** Undefined if the payload is not the one that was written. */
export function decodeRecord(header: RecordHeader, payload: Buffer): CaptureRecord | undefined {
  const { type, call, at, detail, flags } = header;
  if (type === "frames" || !isWhole(header, payload)) return undefined;
  const place = { call, at };
  if (type === "message") {
    const form = FORMS[detail & 0x0f];
    if (form === undefined) return undefined;
    const wasCompressed = (detail & COMPRESSED) !== 0;
    return { type, ...place, direction: directionOf(header), form, flags, wasCompressed, bytes: payload };
  }
  const value = JSON.parse(payload.toString("utf8"));
  if (type === "note") return { type, ...place, note: value };
  return type === "end" ? { type, ...place, end: value } : { type, ...place, head: value };
}

const isWhole = ({ checksum }: RecordHeader, payload: Buffer): boolean => crc32(payload) === checksum;

const directionOf = ({ detail }: RecordHeader): CapturedMessage["direction"] =>
  detail & RECEIVED ? "received" : "sent";

/** A message among frames, and where its envelope is in their payload. */
export interface StoredFrame {
  readonly start: number;
  readonly message: Extract<CaptureRecord, { type: "message" }>;
}

/** Undefined if the payload is not the one that was written. */
export function decodeFrames(header: RecordHeader, payload: Buffer): readonly StoredFrame[] | undefined {
  if (!isWhole(header, payload)) return undefined;
  const { call, at } = header;
  const place = { type: "message", call, at, direction: directionOf(header), form: "frame" } as const;
  const frames: StoredFrame[] = [];
  for (let start = 0; start + ENVELOPE_BYTES <= payload.length; ) {
    const from = start + ENVELOPE_BYTES;
    const end = from + payload.readUInt32BE(start + 1);
    const bytes = payload.subarray(from, end);
    frames.push({ start, message: { ...place, flags: payload[start] ?? 0, wasCompressed: false, bytes } });
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
