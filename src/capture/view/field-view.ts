import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { looksLikeText } from "../mask/message-texts.ts";

/** A field as it is on the wire, with a guess of its meaning. */
export interface FieldView {
  readonly number: number;
  readonly wire: "varint" | "64-bit" | "bytes" | "32-bit" | "group";
  readonly value?: string;
  readonly text?: string;
  readonly fields?: readonly FieldView[];
  readonly hex?: string;
}

const MAX_DEPTH = 32;
const WIRES = ["varint", "64-bit", "bytes", "group", "group", "32-bit"] as const;

/** Reads a message without its schema. Undefined if the bytes are no message. */
function viewFields(bytes: Uint8Array, depth = 0): readonly FieldView[] | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const reader = new BinaryReader(bytes);
  const fields: FieldView[] = [];
  try {
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      fields.push({ number, wire: WIRES[wireType] ?? "group", ...viewValue(reader, number, wireType, depth) });
    }
  } catch {
    return undefined;
  }
  return fields;
}

function viewValue(reader: BinaryReader, number: number, wireType: WireType, depth: number): Partial<FieldView> {
  switch (wireType) {
    case WireType.Varint:
      return { value: String(reader.uint64()) };
    case WireType.Bit32:
      return { value: String(reader.fixed32()) };
    case WireType.Bit64: {
      const at = reader.pos;
      const double = reader.double();
      reader.pos = at;
      return { value: `${reader.fixed64()} (double ${double})` };
    }
    case WireType.LengthDelimited:
      return viewBytes(reader.bytes(), depth);
    default:
      return { hex: hexOf(reader.skip(wireType, number)) };
  }
}

export function viewBytes(bytes: Uint8Array, depth = 0): Pick<FieldView, "text" | "fields" | "hex"> {
  if (looksLikeText(bytes)) return { text: Buffer.from(bytes).toString("utf8") };
  const fields = viewFields(bytes, depth + 1);
  return fields ? { fields } : { hex: hexOf(bytes) };
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
