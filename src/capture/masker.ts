import { createHmac, randomBytes } from "node:crypto";
import { SecretForms } from "../observe/secret-forms.ts";

/** What looks like a secret, or names a person. */
const SHAPES: readonly RegExp[] = [
  /(?<=\bBearer(?: |%20)+)[^\s"'\\,;]{8,}/gi,
  /\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g,
  /\b(?:exc|crsr|sk|key|ghp|gho|github_pat|xox[abp])[-_][\w-]{16,}/g,
  /\b[\w.+-]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b/g,
  /(?<=\bWorkosCursorSessionToken=)[^\s"'\\;]+/g,
  /(?<=:\/\/[^\s"'\\/?#@:]*:)[^\s"'\\/?#@]+(?=@)/g,
];

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Masks are remembered, so that long streams do not compute them again. */
const MAX_REMEMBERED = 10_000;

/**
 * Replaces secrets by masks of the same length in bytes, so that lengths and frames still hold. The same secret has the
 * same mask throughout a capture, and another one in the next. Punctuation stays: an address still looks like one.
 */
export class Masker {
  readonly #key = randomBytes(32);
  readonly #forms = new SecretForms();
  readonly #masks = new Map<string, string>();

  /** Registers a secret. Fewer than eight characters are ignored, since ordinary text has them. */
  add(secret: string): void {
    if (secret.length >= SecretForms.MIN_LENGTH) this.#forms.add(Buffer.from(secret).toString("latin1"));
  }

  text(text: string): string {
    return Buffer.from(this.bytes(Buffer.from(text))).toString("utf8");
  }

  /** Returns the same bytes if there is nothing to mask. */
  bytes(bytes: Uint8Array): Uint8Array {
    // One character for each byte, so that lengths in bytes stay.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    let clean = this.#forms.replaceIn(text, (secret) => this.#maskOf(secret));
    for (const shape of SHAPES) clean = clean.replace(shape, (secret) => this.#maskOf(secret));
    return clean === text ? bytes : Buffer.from(clean, "latin1");
  }

  #maskOf(secret: string): string {
    const known = this.#masks.get(secret);
    if (known !== undefined) return known;
    const digest = createHmac("sha256", this.#key).update(secret, "latin1").digest();
    let at = 0;
    const mask = secret.replace(/[\w\u0080-\u00ff]/g, () => {
      const byte = digest[at++ % digest.length] ?? 0;
      return LETTERS[(byte + at) % LETTERS.length] ?? "x";
    });
    if (this.#masks.size >= MAX_REMEMBERED) this.#masks.clear();
    this.#masks.set(secret, mask);
    return mask;
  }
}
