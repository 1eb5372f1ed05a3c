import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { JsonObject, JsonValue } from "../../core/turn.ts";

/** The fields of `google.protobuf.Value`. */
const [NULL, NUMBER, TEXT, BOOL, STRUCT, LIST] = [1, 2, 3, 4, 5, 6] as const;
const ENTRIES = 1;
const [KEY, VALUE] = [1, 2] as const;

/** A level of JSON is three of the wire, where readers give up at 100. What lies deeper is written as its JSON text. */
const MAX_LEVELS = 30;

/**
 * JSON as a serialized `google.protobuf.Value`, written in one pass: schemas of tools and arguments of calls are most of
 * what a request holds, and the generic way makes three trees of them first.
 */
export const encodeValue = (value: JsonValue): Uint8Array => writeValue(new BinaryWriter(), value, MAX_LEVELS).finish();

/** The entries of an object as a `map<string, google.protobuf.Value>` in this field. */
export function encodeValueMap(field: number, object: JsonObject): Uint8Array {
  const writer = new BinaryWriter();
  writeEntries(writer, field, object, MAX_LEVELS - 1);
  return writer.finish();
}

function writeValue(writer: BinaryWriter, value: JsonValue, levels: number): BinaryWriter {
  switch (typeof value) {
    case "string":
      return writer.tag(TEXT, WireType.LengthDelimited).string(value);
    case "number":
      // JSON can hold 1e400. Readers refuse infinity; JSON.stringify writes it as null, too.
      return Number.isFinite(value) ? writer.tag(NUMBER, WireType.Bit64).double(value) : writeNull(writer);
    case "boolean":
      return writer.tag(BOOL, WireType.Varint).bool(value);
    default:
      return value === null ? writeNull(writer) : writeTree(writer, value, levels);
  }
}

const writeNull = (writer: BinaryWriter): BinaryWriter => writer.tag(NULL, WireType.Varint).int32(0);

function writeTree(writer: BinaryWriter, value: JsonObject | readonly JsonValue[], levels: number): BinaryWriter {
  if (levels === 0) return writer.tag(TEXT, WireType.LengthDelimited).string(JSON.stringify(value));
  if (Array.isArray(value)) {
    writer.tag(LIST, WireType.LengthDelimited).fork();
    for (const item of value as readonly JsonValue[]) {
      writeValue(writer.tag(ENTRIES, WireType.LengthDelimited).fork(), item, levels - 1).join();
    }
  } else {
    writer.tag(STRUCT, WireType.LengthDelimited).fork();
    writeEntries(writer, ENTRIES, value as JsonObject, levels - 1);
  }
  return writer.join();
}

function writeEntries(writer: BinaryWriter, field: number, object: JsonObject, levels: number): void {
  for (const [key, value] of Object.entries(object)) {
    writer.tag(field, WireType.LengthDelimited).fork().tag(KEY, WireType.LengthDelimited).string(key);
    writeValue(writer.tag(VALUE, WireType.LengthDelimited).fork(), value, levels).join().join();
  }
}
