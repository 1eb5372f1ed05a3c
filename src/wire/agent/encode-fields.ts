import type { DescField } from "@bufbuild/protobuf";

/**
 * One field of a protobuf message, with its nested fields. {@link encodeFields} sizes the whole message first,
 * allocates it once and writes every value into it. The generated codec copies each nested message once per level, and
 * cannot take serialized parts. bench/README.md has the cost.
 */
export interface Field {
  /** Field number and wire type. 0: the value is a run of serialized fields, written as it is. */
  readonly tag: number;
  readonly value: Uint8Array | string | number | readonly Field[];
  /** Length of the value, without tag and length prefix. */
  readonly bytes: number;
}

export function bytesField({ number }: DescField, value: Uint8Array): Field {
  return { tag: delimited(number), value, bytes: value.length };
}

export function textField({ number }: DescField, value: string): Field {
  return { tag: delimited(number), value, bytes: Buffer.byteLength(value) };
}

export function messageField({ number }: DescField, ...value: readonly Field[]): Field {
  return { tag: delimited(number), value, bytes: sizeOf(value) };
}

/** A varint field: unsigned integers, booleans, enums. */
export function numberField({ number }: DescField, value: number): Field {
  return { tag: number << 3, value, bytes: varintLength(value) };
}

/** Fields that are already serialized. Protobuf allows fields in any order, so they can stand anywhere in a message. */
export const serialized = (value: Uint8Array): Field => ({ tag: 0, value, bytes: value.length });

export function encodeFields(...fields: readonly Field[]): Uint8Array {
  if (fields.length === 0) return NOTHING;
  const out = Buffer.allocUnsafe(sizeOf(fields));
  writeFields(fields, out, 0);
  return out;
}

const NOTHING = new Uint8Array(0);

const LENGTH_DELIMITED = 2;

const delimited = (number: number): number => (number << 3) | LENGTH_DELIMITED;

function sizeOf(fields: readonly Field[]): number {
  let size = 0;
  for (const { tag, value, bytes } of fields) {
    size += bytes;
    if (tag !== 0) size += varintLength(tag) + (typeof value === "number" ? 0 : varintLength(bytes));
  }
  return size;
}

/** Returns the offset after what it wrote. */
function writeFields(fields: readonly Field[], out: Buffer, start: number): number {
  let at = start;
  for (const { tag, value, bytes } of fields) {
    if (tag !== 0) at = writeVarint(tag, out, at);
    if (typeof value === "number") {
      at = writeVarint(value, out, at);
      continue;
    }
    if (tag !== 0) at = writeVarint(bytes, out, at);
    at = writeValue(value, out, at);
  }
  return at;
}

function writeValue(value: Uint8Array | string | readonly Field[], out: Buffer, at: number): number {
  if (typeof value === "string") return at + out.write(value, at);
  if (!(value instanceof Uint8Array)) return writeFields(value, out, at);
  out.set(value, at);
  return at + value.length;
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) length++;
  return length;
}

function writeVarint(value: number, out: Uint8Array, start: number): number {
  let [at, rest] = [start, value];
  for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
}
