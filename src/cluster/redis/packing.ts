import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

const PLAIN = 0;
const DEFLATED = 1;

/** Shorter values are not worth the work. */
const MIN_DEFLATED = 1024;

/** A value that unpacks to more is damaged, or not ours. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Packs a value for Redis: compressed, unless it is short. The work is done by another thread. */
export async function pack(value: Uint8Array | string): Promise<Buffer> {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  if (bytes.length < MIN_DEFLATED) return Buffer.concat([Buffer.of(PLAIN), bytes]);
  return Buffer.concat([Buffer.of(DEFLATED), await deflate(bytes, { level: 1 })]);
}

/** Returns undefined for a value that was not packed by {@link pack}. */
export async function unpack(packed: unknown): Promise<Buffer | undefined> {
  if (!Buffer.isBuffer(packed)) return undefined;
  const body = packed.subarray(1);
  if (packed[0] === PLAIN) return body;
  if (packed[0] !== DEFLATED) return undefined;
  return inflate(body, { maxOutputLength: MAX_BYTES }).catch(() => undefined);
}
