import * as zlib from "node:zlib";
import { gunzipNow } from "../wire/connect/gzip.ts";

type Decode = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array;

// Node has had zstd since 22.15.
const { zstdDecompressSync = refuse } = zlib as Partial<typeof zlib>;

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: (bytes, { maxOutputLength }) => gunzipNow(bytes, maxOutputLength),
  "x-gzip": (bytes, { maxOutputLength }) => gunzipNow(bytes, maxOutputLength),
  deflate: zlib.inflateSync,
  br: zlib.brotliDecompressSync,
  zstd: zstdDecompressSync,
};

function refuse(): never {
  throw new Error("This encoding is not known.");
}

/** Returns the encodings of a body by their names, in the order in which they were applied. */
export const encodingsOf = (headers: Readonly<Record<string, string>>): readonly string[] =>
  (headers["content-encoding"] ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");

/** Undefined if the body cannot be decoded, or is longer than `maxBytes` then. */
export function decodeBody(bytes: Uint8Array, encodings: readonly string[], maxBytes: number): Uint8Array | undefined {
  const options = { maxOutputLength: maxBytes };
  try {
    return encodings.toReversed().reduce((inner, name) => (DECODERS[name] ?? refuse)(inner, options), bytes);
  } catch {
    return undefined;
  }
}
