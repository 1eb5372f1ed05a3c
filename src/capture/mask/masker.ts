import { createHmac, randomBytes } from "node:crypto";
import { SecretForms } from "../../observe/secret-forms.ts";

/** What looks like a secret, or names a person. Texts may be in JSON, where a word can follow an escaped line break. */
const SHAPES: readonly RegExp[] = [
  /(?<=\bBearer(?: |%20)+)[^\s"'\\,;]{8,}/gi,
  /(?:(?<!\\)\b|(?<=\\[nrtbf]))eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g,
  /(?:(?<!\\)\b|(?<=\\[nrtbf]))(?:exc|crsr|sk|key|ghp|gho|github_pat|xox[abp])[-_][\w-]{16,}/g,
  /(?:(?<!\\)\b|(?<=\\[nrtbf]))[\w.+-]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b/g,
  /(?<=\/(?:home|Users)\/|\b[A-Za-z]:(?:\\{1,2}|\/)Users(?:\\{1,2}|\/))[\w.-]+/g,
  /(?<=\bWorkosCursorSessionToken=)[^\s"'\\;]+/g,
  /(?<=:\/\/[^\s"'\\/?#@:]*:)[^\s"'\\/?#@]+(?=@)/g,
];

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Masks are remembered, so that long streams do not compute them again. */
const MAX_REMEMBERED = 10_000;
const MAX_SECRET_LENGTH = 16 * 1024;

/**
 * Replaces secrets by masks of the same length in bytes, so that lengths and frames still hold. The same secret has the
 * same mask throughout a capture, and another one in the next. Punctuation stays: an address still looks like one.
 */
export class Masker {
  readonly #key = randomBytes(32);
  readonly #forms = new SecretForms();
  readonly #masks = new Map<string, string>();

  readonly #known = new Set<string>();

  /** Registers a secret. Fewer than eight characters are ignored, since ordinary text has them. */
  add(secret: string): void {
    if (secret.length < SecretForms.MIN_LENGTH || secret.length > MAX_SECRET_LENGTH) return;
    if (this.#known.has(secret) || this.#known.size >= MAX_REMEMBERED) return;
    this.#known.add(secret);
    this.#forms.add(Buffer.from(secret).toString("latin1"));
  }

  /** Masks a whole word that is known to be a secret. */
  word(word: string): string {
    return Buffer.from(this.#maskOf(Buffer.from(word).toString("latin1")), "latin1").toString("utf8");
  }

  text(text: string): string {
    return Buffer.from(this.bytes(Buffer.from(text))).toString("utf8");
  }

  /** Returns the same bytes if there is nothing to mask. */
  bytes(bytes: Uint8Array): Uint8Array {
    const masked = Buffer.from(bytes);
    this.mask(masked);
    return masked.equals(bytes) ? bytes : masked;
  }

  /** Masks a text in place. */
  mask(bytes: Buffer): void {
    this.maskKnown(bytes);
    this.maskShapes(bytes);
  }

  /** Masks the registered secrets in place. */
  maskKnown(bytes: Buffer): void {
    // One character for each byte, so that lengths in bytes stay.
    const text = bytes.toString("latin1");
    const clean = this.#forms.replaceIn(text, (secret) => this.#maskOf(secret));
    if (clean !== text) bytes.write(clean, "latin1");
  }

  /** Masks what looks like a secret, in place. The bytes must be a text: a tag or a length before it may look like a part of it. */
  maskShapes(bytes: Buffer): void {
    const text = bytes.toString("latin1");
    let clean = text;
    for (const shape of SHAPES) clean = clean.replace(shape, (secret) => this.#maskOf(secret));
    if (clean !== text) bytes.write(clean, "latin1");
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
