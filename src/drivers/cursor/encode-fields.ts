import type { DescField } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/**
 * Fields of a message whose parts are encoded already. A message is its fields, one after the other, in any order: so
 * what is large, or the same every time, is put in as bytes instead of being walked through again.
 */
export const bytesField = ({ number }: DescField, bytes: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();

export const textField = ({ number }: DescField, text: string): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).string(text).finish();

export const joinFields = (...fields: readonly Uint8Array[]): Uint8Array => Buffer.concat(fields);
