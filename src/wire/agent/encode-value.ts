import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { JsonObject, JsonValue } from "../../core/turn.ts";

const [NULL, NUMBER, TEXT, BOOL, STRUCT, LIST] = [1, 2, 3, 4, 5, 6] as const;
const ENTRIES = 1;
const [KEY, VALUE] = [1, 2] as const;

/**
 * How deeply lists and objects may nest. Protobuf decoders stop after 100 nested messages by default. An object takes
 * up to three per level, and the surrounding messages take some.
 */
export const MAX_VALUE_LEVELS = 30;

/**
 * Encodes JSON as a `google.protobuf.Value` in one pass. Tool schemas and call arguments are most of a request, and the
 * generic codec builds three trees of them first. Values nested deeper than {@link MAX_VALUE_LEVELS} become text.
 */
export const encodeValue = (value: JsonValue): Uint8Array =>
  writeValue(new BinaryWriter(), value, MAX_VALUE_LEVELS).finish();

/** Encodes an object as a `map<string, google.protobuf.Value>` in this field. */
export function encodeValueMap(field: number, object: JsonObject): Uint8Array {
  const writer = new BinaryWriter();
  writeEntries(writer, field, object, MAX_VALUE_LEVELS - 1);
  return writer.finish();
}

function writeValue(writer: BinaryWriter, value: JsonValue, levels: number): BinaryWriter {
  switch (typeof value) {
    case "string":
      return writer.tag(TEXT, WireType.LengthDelimited).string(value);
    case "number":
      // JSON can hold 1e400, but readers refuse infinity. JSON.stringify writes null, too.
      return Number.isFinite(value) ? writer.tag(NUMBER, WireType.Bit64).double(value) : writeNull(writer);
    case "boolean":
      return writer.tag(BOOL, WireType.Varint).bool(value);
    default:
      if (value === null) return writeNull(writer);
      return levels === 0 ? writeValue(writer, JSON.stringify(value), 0) : writeTree(writer, value, levels - 1);
  }
}

const writeNull = (writer: BinaryWriter): BinaryWriter => writer.tag(NULL, WireType.Varint).int32(0);

/** `levels` counts the levels that are left inside the value. */
function writeTree(writer: BinaryWriter, value: JsonObject | readonly JsonValue[], levels: number): BinaryWriter {
  if (Array.isArray(value)) {
    writer.tag(LIST, WireType.LengthDelimited).fork();
    for (const item of value as readonly JsonValue[]) {
      writeValue(writer.tag(ENTRIES, WireType.LengthDelimited).fork(), item, levels).join();
    }
  } else {
    writer.tag(STRUCT, WireType.LengthDelimited).fork();
    writeEntries(writer, ENTRIES, value as JsonObject, levels);
  }
  return writer.join();
}

function writeEntries(writer: BinaryWriter, field: number, object: JsonObject, levels: number): void {
  for (const [key, value] of Object.entries(object)) {
    writer.tag(field, WireType.LengthDelimited).fork().tag(KEY, WireType.LengthDelimited).string(key);
    writeValue(writer.tag(VALUE, WireType.LengthDelimited).fork(), value, levels).join().join();
  }
}
