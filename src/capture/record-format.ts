import { crc32 } from "node:zlib";
import type { CaptureRecord } from "./records.ts";

/**
 * The file: a line of text, then records. A record is a header of 24 bytes and a payload. A reader that looks for one
 * conversation skips payloads by their length, so its time is that of reading the file.
 *
 * ```
 * 0  mark      0xec
 * 1  type      1 call, 2 response, 3 message, 4 end, 5 note
 * 2  detail    of a message: direction and form
 * 3  flags     of a message: those of its envelope
 * 4  call      uint32
 * 8  time      float64, milliseconds since the epoch
 * 16 length    uint32, of the payload
 * 20 checksum  CRC-32 of the payload
 * ```
 */
export const FIRST_LINE = "excursor-capture 1\n";
export const HEADER_BYTES = 24;
const MARK = 0xec;

const TYPES = { call: 1, response: 2, message: 3, end: 4, note: 5 } as const;
const NAMES = Object.fromEntries(Object.entries(TYPES).map(([name, number]) => [number, name])) as Readonly<
  Record<number, keyof typeof TYPES | undefined>
>;
const FORMS = ["frame", "event", "body"] as const;
const RECEIVED = 0x80;
const COMPRESSED = 0x40;

/** A record without its payload. */
export interface RecordHeader {
  readonly type: CaptureRecord["type"];
  readonly detail: number;
  readonly flags: number;
  readonly call: number;
  readonly at: number;
  readonly length: number;
  readonly checksum: number;
}

export function encodeRecord(record: CaptureRecord): readonly [Buffer, Uint8Array] {
  const payload = payloadOf(record);
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = MARK;
  header[1] = TYPES[record.type];
  if (record.type === "message") {
    const direction = record.direction === "received" ? RECEIVED : 0;
    header[2] = direction | (record.wasCompressed ? COMPRESSED : 0) | FORMS.indexOf(record.form);
    header[3] = record.flags;
  }
  header.writeUInt32LE(record.call, 4);
  header.writeDoubleLE(record.at, 8);
  header.writeUInt32LE(payload.length, 16);
  header.writeUInt32LE(crc32(payload), 20);
  return [header, payload];
}

function payloadOf(record: CaptureRecord): Uint8Array {
  switch (record.type) {
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
  return view.getUint8(at) === MARK && type >= TYPES.call && type <= TYPES.note;
};
export const isMessageAt = (view: DataView, at: number): boolean => view.getUint8(at + 1) === TYPES.message;
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
  if (crc32(payload) !== header.checksum) return undefined;
  const place = { call, at };
  if (type === "message") {
    const direction = detail & RECEIVED ? "received" : "sent";
    const form = FORMS[detail & 0x0f];
    if (form === undefined) return undefined;
    return { type, ...place, direction, form, flags, wasCompressed: (detail & COMPRESSED) !== 0, bytes: payload };
  }
  const value = JSON.parse(payload.toString("utf8"));
  if (type === "note") return { type, ...place, note: value };
  return type === "end" ? { type, ...place, end: value } : { type, ...place, head: value };
}
