import { createHmac, randomBytes } from "node:crypto";
import { SecretForms } from "../../observe/secret-forms.ts";
import { hasTrace, maskShapes } from "./secret-shapes.ts";
import { hasBoundary } from "./word-boundary.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Masks are remembered, so that long streams do not compute them again. */
const MAX_REMEMBERED = 10_000;
const MAX_SECRET_LENGTH = 16 * 1024;
/** JSON writes a control character as six. */
const MAX_FORM_RATIO = 6;

/**
 * Replaces secrets by masks of the same length in bytes, so that lengths and frames still hold. The same secret has the
 * same mask throughout a capture, and another one in the next. Punctuation stays: an address still looks like one.
 */
export class Masker {
  readonly #key = randomBytes(32);
  readonly #forms = new SecretForms();
  readonly #masks = new Map<string, string>();
  /** The masks themselves. What is masked already, such as a known token behind `Bearer`, keeps its mask. */
  readonly #made = new Set<string>();

  readonly #known = new Set<string>();
  #longestPhrase = 0;

  /** The length of the longest registered secret that is not one word, in any form. */
  get longestPhrase(): number {
    return this.#longestPhrase;
  }

  /** Registers a secret. Fewer than eight characters are ignored, since ordinary text has them. */
  add(secret: string): void {
    if (secret.length < SecretForms.MIN_LENGTH || secret.length > MAX_SECRET_LENGTH) return;
    if (this.#known.has(secret) || this.#known.size >= MAX_REMEMBERED) return;
    this.#known.add(secret);
    const text = Buffer.from(secret).toString("latin1");
    this.#forms.add(text);
    if (hasBoundary(text)) this.#longestPhrase = Math.max(this.#longestPhrase, text.length * MAX_FORM_RATIO);
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

  /**
   * Masks a text in place, up to `end`. Returns how far it did: a secret that goes on behind `end` is left as it is, for the
   * next time.
   */
  mask(bytes: Buffer, end = bytes.length): number {
    let cut = end;
    const maskBefore = (secret: string, start: number): string => {
      if (start >= end) return secret;
      if (start + secret.length <= end) return this.#maskOf(secret);
      cut = Math.min(cut, start);
      return secret;
    };
    // One character for each byte, so that lengths in bytes stay.
    const known = this.#forms.replaceIn(bytes.toString("latin1"), maskBefore);
    bytes.write(maskShapes(known, maskBefore).slice(0, cut), "latin1");
    return cut;
  }

  /** True only if {@link mask} would change nothing. Takes a fraction of its time. */
  isClean(bytes: Buffer): boolean {
    const text = bytes.toString("latin1");
    return !hasTrace(text) && !this.#forms.areIn(text);
  }

  /** Masks the registered secrets in place. */
  maskKnown(bytes: Buffer): void {
    const text = bytes.toString("latin1");
    const clean = this.#forms.replaceIn(text, (secret) => this.#maskOf(secret));
    if (clean !== text) bytes.write(clean, "latin1");
  }

  /** Masks what looks like a secret, in place. The bytes must be a text: a tag or a length before it may look like a part of it. */
  maskShapes(bytes: Buffer): void {
    const text = bytes.toString("latin1");
    const clean = maskShapes(text, (secret) => this.#maskOf(secret));
    if (clean !== text) bytes.write(clean, "latin1");
  }

  #maskOf(secret: string): string {
    const known = this.#masks.get(secret);
    if (known !== undefined) return known;
    if (this.#made.has(secret)) return secret;
    const digest = createHmac("sha256", this.#key).update(secret, "latin1").digest();
    let at = 0;
    // In JSON, a letter behind a backslash is a part of an escape.
    const mask = secret.replace(/(?<!\\)[\w\u0080-\u00ff]/g, () => {
      const byte = digest[at++ % digest.length] ?? 0;
      return LETTERS[(byte + at) % LETTERS.length] ?? "x";
    });
    if (this.#masks.size >= MAX_REMEMBERED) {
      this.#masks.clear();
      this.#made.clear();
    }
    this.#masks.set(secret, mask);
    this.#made.add(mask);
    return mask;
  }
}
