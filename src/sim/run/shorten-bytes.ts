import { clone, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/** Longer bytes are shortened. */
const MAX_BYTES = 64 * 1024;

/** Returns the message, or a copy in which long bytes are cut: as base64, those of a large blob take seconds. */
export function shortenBytes<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): MessageShape<Desc> {
  if (!cutBytes(reflect(schema, message), false)) return message;
  const copy = clone(schema, message);
  cutBytes(reflect(schema, copy), true);
  return copy;
}

/** Cuts long bytes if it may, and returns whether there are any. */
function cutBytes(message: ReflectMessage, mayCut: boolean): boolean {
  let isLong = false;
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === "scalar") {
      const value = message.get(field);
      if (!(value instanceof Uint8Array) || value.length <= MAX_BYTES) continue;
      isLong = true;
      if (mayCut) message.set(field, value.subarray(0, MAX_BYTES));
    } else if (field.fieldKind === "message") {
      isLong = cutBytes(message.get(field), mayCut) || isLong;
    } else if (field.fieldKind === "list" && field.listKind === "message") {
      for (const item of message.get(field)) isLong = cutBytes(item as ReflectMessage, mayCut) || isLong;
    }
  }
  return isLong;
}
