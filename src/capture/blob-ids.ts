import type { DescMessage } from "@bufbuild/protobuf";
import { findLeaves } from "./mask/leaves.ts";

const ID_BYTES = 32;

/** Puts the new ids of masked blobs in the place of the old ones. `ids` are hex, as in the notes of a capture. */
export function replaceBlobIds(
  bytes: Uint8Array,
  schema: DescMessage | undefined,
  ids: ReadonlyMap<string, string>,
): Uint8Array {
  if (ids.size === 0) return bytes;
  const replaced = Buffer.from(bytes);
  findLeaves(bytes, schema, ({ start, end }) => {
    const id = end - start === ID_BYTES ? ids.get(replaced.toString("hex", start, end)) : undefined;
    if (id !== undefined) replaced.write(id, start, "hex");
  });
  return replaced;
}
