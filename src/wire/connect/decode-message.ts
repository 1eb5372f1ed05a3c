import { type DescField, type DescMessage, fromBinary, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ExcursorError } from "../../core/errors.ts";

/**
 * Decodes a message of the backend. Unlike the generated codec, it accepts invalid UTF-8 and replaces it by U+FFFD:
 * half an emoji must not cost the whole stream.
 */
export function decodeMessage<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    if (!isUtf8Error(error)) throw invalidMessage(schema, error);
  }
  try {
    return fromBinary(schema, repairText(bytes, textsOf(schema)));
  } catch (error) {
    throw invalidMessage(schema, error);
  }
}

function isUtf8Error(error: unknown): boolean {
  return error instanceof TypeError && (error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA";
}

function invalidMessage(schema: DescMessage, cause: unknown): ExcursorError {
  return new ExcursorError("message_invalid", [], { context: { message: schema.typeName }, cause });
}

const MAX_DEPTH = 100;

/** The content of a field: text, a message with its own fields, or neither. */
type Texts = (fieldNumber: number) => "text" | Texts | undefined;

function textsOf(schema: DescMessage): Texts {
  return (fieldNumber) => {
    const field = schema.fields.find(({ number }) => number === fieldNumber);
    return field && textsOfField(field);
  };
}

function textsOfField(field: DescField): ReturnType<Texts> {
  if (field.fieldKind === "map") {
    const key = field.mapKey === ScalarType.STRING ? "text" : undefined;
    const value = field.scalar === ScalarType.STRING ? "text" : field.message && textsOf(field.message);
    return (entryField) => (entryField === 1 ? key : entryField === 2 ? value : undefined);
  }
  if (field.message) return textsOf(field.message);
  return field.scalar === ScalarType.STRING ? "text" : undefined;
}

/** Rewrites a message with valid text. Lengths change, so each surrounding message is rewritten, too. */
function repairText(bytes: Uint8Array, texts: Texts, depth = 0): Uint8Array {
  if (depth > MAX_DEPTH) throw new RangeError("message nested too deeply");
  const reader = new BinaryReader(bytes);
  const writer = new BinaryWriter();
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [fieldNumber, wireType] = reader.tag();
    const content = wireType === WireType.LengthDelimited ? texts(fieldNumber) : undefined;
    if (content === undefined) {
      reader.skip(wireType, fieldNumber);
      writer.raw(bytes.subarray(start, reader.pos));
      continue;
    }
    const value = reader.bytes();
    const repaired = content === "text" ? validText(value) : repairText(value, content, depth + 1);
    writer.tag(fieldNumber, wireType).bytes(repaired);
  }
  return writer.finish();
}

function validText(value: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8"));
}
