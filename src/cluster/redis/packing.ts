import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Secret } from "../../core/secret.ts";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

const PLAIN = 0;
const DEFLATED = 1;

/** Shorter values are not worth the work. */
const MIN_DEFLATED = 1024;

/** A value that unpacks to more is damaged, or not ours. */
const MAX_BYTES = 64 * 1024 * 1024;

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Packs values for Redis: compressed by another thread unless they are short, and encrypted, so that whoever can read Redis
 * or its backups reads no prompts, and whoever can write it cannot forge values.
 */
export class Packing {
  readonly #key: KeyObject;

  /** `purpose` keeps the keys that are made of one secret apart. */
  constructor(secret: Secret, purpose: string) {
    this.#key = createSecretKey(Buffer.from(hkdfSync("sha256", secret.reveal(), "excursor", purpose, KEY_BYTES)));
  }

  /** `place` is where the value will be. It cannot be unpacked anywhere else. */
  async pack(value: Uint8Array | string, place: string): Promise<Buffer> {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    const isShort = bytes.length < MIN_DEFLATED;
    const body = isShort ? bytes : await deflate(bytes, { level: 1 });
    const nonce = randomBytes(NONCE_BYTES);
    const head = Buffer.of(isShort ? PLAIN : DEFLATED);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.concat([head, Buffer.from(place)]));
    const hidden = Buffer.concat([cipher.update(body), cipher.final()]);
    return Buffer.concat([head, nonce, cipher.getAuthTag(), hidden]);
  }

  /** Returns undefined for a value that was not packed with the same secret for this place. */
  async unpack(packed: unknown, place: string): Promise<Buffer | undefined> {
    if (!Buffer.isBuffer(packed) || packed.length < 1 + NONCE_BYTES + TAG_BYTES) return undefined;
    try {
      const head = packed.subarray(0, 1);
      const nonce = packed.subarray(1, 1 + NONCE_BYTES);
      const tag = packed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv(CIPHER, this.#key, nonce)
        .setAAD(Buffer.concat([head, Buffer.from(place)]))
        .setAuthTag(tag);
      const hidden = packed.subarray(1 + NONCE_BYTES + TAG_BYTES);
      const body = Buffer.concat([decipher.update(hidden), decipher.final()]);
      return head[0] === DEFLATED ? await inflate(body, { maxOutputLength: MAX_BYTES }) : body;
    } catch {
      return undefined;
    }
  }
}
