import type { DescField } from "@bufbuild/protobuf";

/**
 * Fields of a message whose parts are encoded already. A message is its fields, one after the other, in any order: so
 * what is large, or the same every time, is put in as bytes instead of being walked through again.
 */
export function bytesField({ number }: DescField, bytes: Uint8Array): Uint8Array {
  const field = Buffer.allocUnsafe(varintLength(tagOf(number)) + varintLength(bytes.length) + bytes.length);
  field.set(bytes, writeVarint(bytes.length, field, writeVarint(tagOf(number), field, 0)));
  return field;
}

/** For values that are whole and not negative, enums among them. */
export function numberField({ number }: DescField, value: number): Uint8Array {
  const field = Buffer.allocUnsafe(varintLength(number << 3) + varintLength(value));
  writeVarint(value, field, writeVarint(number << 3, field, 0));
  return field;
}

export const textField = (field: DescField, text: string): Uint8Array => bytesField(field, Buffer.from(text));

export const joinFields = (...fields: readonly Uint8Array[]): Uint8Array => Buffer.concat(fields);

const LENGTH_DELIMITED = 2;

const tagOf = (number: number): number => (number << 3) | LENGTH_DELIMITED;

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) length++;
  return length;
}

/** Gives the place behind it. */
function writeVarint(value: number, out: Uint8Array, start: number): number {
  let [at, rest] = [start, value];
  for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
}
