import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";
import { ExcursorError } from "../../core/errors.ts";

/**
 * Frames between two gateways: four bytes with the length, then text under AES-256-GCM, then the tag of 16 bytes. The nonce of
 * the cipher is the number of the frame: a frame that is changed, repeated, left out or moved is refused. Each connection has
 * keys of its own, so no nonce is used twice.
 */
const ALGORITHM = "aes-256-gcm";
const HEAD_BYTES = 4;
const TAG_BYTES = 16;

const nonceOf = (count: number): Buffer => {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(count, 8);
  return nonce;
};

export class FrameSealer {
  readonly #key: KeyObject;
  #count = 0;

  constructor(key: Buffer) {
    // With the bytes themselves, each frame would cost four times as much.
    this.#key = createSecretKey(key);
  }

  /** Throws after 2³² frames: the numbers are used up. */
  seal(text: string): Buffer {
    const cipher = createCipheriv(ALGORITHM, this.#key, nonceOf(this.#count++));
    const body = cipher.update(text, "utf8");
    cipher.final();
    const head = Buffer.allocUnsafe(HEAD_BYTES);
    head.writeUInt32BE(body.length);
    return Buffer.concat([head, body, cipher.getAuthTag()]);
  }
}

export class FrameOpener {
  readonly #key: KeyObject;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  /** Of the next frame, once its head has arrived. */
  #length: number | undefined;
  #count = 0;

  constructor(key: Buffer, maxBytes: number) {
    this.#key = createSecretKey(key);
    this.#maxBytes = maxBytes;
  }

  /** Returns the frames that are complete with this chunk, as texts. Throws if one was tampered with. */
  push(chunk: Buffer): string[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: string[] = [];
    for (;;) {
      if (this.#length === undefined) {
        if (this.#bytes < HEAD_BYTES) return frames;
        this.#length = this.#take(HEAD_BYTES).readUInt32BE();
        if (this.#length > this.#maxBytes) throw broken("is too large");
      }
      if (this.#bytes < this.#length + TAG_BYTES) return frames;
      frames.push(this.#open(this.#take(this.#length), this.#take(TAG_BYTES)));
      this.#length = undefined;
    }
  }

  #open(body: Buffer, tag: Buffer): string {
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonceOf(this.#count++));
    decipher.setAuthTag(tag);
    const text = decipher.update(body);
    try {
      decipher.final();
    } catch {
      throw broken("was changed on its way");
    }
    return text.toString("utf8");
  }

  #take(bytes: number): Buffer {
    const [first] = this.#chunks;
    const all = first && first.length >= bytes ? first : Buffer.concat(this.#chunks);
    if (all !== first) this.#chunks.splice(0, this.#chunks.length, all);
    if (all.length === bytes) this.#chunks.shift();
    else this.#chunks[0] = all.subarray(bytes);
    this.#bytes -= bytes;
    return all.subarray(0, bytes);
  }
}

const broken = (what: string): ExcursorError =>
  new ExcursorError("cluster_frame", `A message of another gateway of the cluster ${what}.`);
