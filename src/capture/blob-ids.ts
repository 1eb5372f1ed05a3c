import type { DescMessage } from "@bufbuild/protobuf";
import { findLeaves } from "./mask/leaves.ts";
import { nestedMessage } from "./mask/nested-message.ts";

const ID_BYTES = 32;

/** Puts the new ids of masked blobs in the place of the old ones. `ids` are hex, as in the notes of a capture. */
export function replaceBlobIds(
  bytes: Uint8Array,
  schema: DescMessage | undefined,
  ids: ReadonlyMap<string, string>,
): Uint8Array {
  if (ids.size === 0) return bytes;
  const replaced = Buffer.from(bytes);
  findLeaves(bytes, schema, (leaf) => {
    const { start, end } = leaf;
    const nested = nestedMessage(leaf);
    if (nested) {
      const encoding = nested.isHex ? "hex" : "latin1";
      const inner = Buffer.from(replaced.toString("latin1", start, end), encoding);
      const mapped = Buffer.from(replaceBlobIds(inner, nested.schema, ids));
      if (!mapped.equals(inner)) replaced.write(mapped.toString(encoding), start, "latin1");
      return;
    }
    const id = end - start === ID_BYTES ? ids.get(replaced.toString("hex", start, end)) : undefined;
    if (id !== undefined) replaced.write(id, start, "hex");
  });
  return replaced;
}
