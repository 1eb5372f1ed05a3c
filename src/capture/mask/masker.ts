import { createHmac, randomBytes } from "node:crypto";
import { findSecrets, isSecretName, replaceSecrets } from "../../core/access/secret-scanner.ts";
import { SecretForms } from "../../observe/secret-forms.ts";

/** A text of these letters alone is a mask. */
const LETTERS = "xyz";
const BACKSLASH = 92;
/** Digits, letters and `_`, and what is no ASCII. */
const MASKED = Uint8Array.from({ length: 256 }, (_, code) => (/[\w\x80-\xff]/.test(String.fromCharCode(code)) ? 1 : 0));
const isMasked = (code: number): boolean => MASKED[code] === 1;
const UNMASKED = /(?<!\\)[\dA-Za-w_\u0080-\u00ff]/;
/** Bytes of a text as hex, as an append has them. */
const HEX = /^(?:[2-7][\da-f]){8,}$/;
const MAX_SECRETS = 10_000;
const MAX_SECRET_LENGTH = 16 * 1024;

/**
 * Replaces secrets by masks of the same length in bytes, so that lengths and frames still hold. Punctuation stays: an
 * address still looks like one. One masker gives a secret the same mask everywhere. A mask of a mask is the mask itself.
 */
export class Masker {
  readonly #key = randomBytes(32);
  readonly #forms = new SecretForms();
  readonly #known = new Set<string>();

  constructor(secrets: readonly string[] = []) {
    for (const secret of secrets) this.add(secret);
  }

  /** Registers a secret. Fewer than eight characters are ignored, since ordinary text has them. */
  add(secret: string): void {
    if (secret.length < SecretForms.MIN_LENGTH || secret.length > MAX_SECRET_LENGTH) return;
    if (this.#known.has(secret) || this.#known.size >= MAX_SECRETS) return;
    this.#known.add(secret);
    this.#forms.add(Buffer.from(secret).toString("latin1"));
  }

  /** Registers what a text of this name is, or says in JSON that it is: a password, a key. */
  learn(text: Buffer, name: string): void {
    if (isSecretName(name)) this.add(text.toString("utf8"));
    const said = text.toString("utf8");
    for (const { start, end, type } of findSecrets(said)) if (type === "member") this.add(said.slice(start, end));
  }

  /** Masks a whole word that is known to be a secret. */
  word(word: string): string {
    return Buffer.from(this.#maskOf(Buffer.from(word).toString("latin1")), "latin1").toString("utf8");
  }

  text(text: string): string {
    const bytes = Buffer.from(text);
    this.mask(bytes);
    return bytes.toString("utf8");
  }

  /** Masks registered secrets, and what looks like a secret, in place. The bytes must be a whole text. */
  mask(text: Buffer): void {
    // One character for each byte, so that lengths in bytes stay.
    const before = text.toString("latin1");
    const after = replaceSecrets(this.#replaceKnown(before), (secret) => this.#maskOf(secret), true);
    if (after !== before) text.write(after, "latin1");
  }

  /** No registered secret is shorter, in any form. */
  get shortest(): number {
    return this.#forms.shortest;
  }

  /** Masks registered secrets in any bytes. Returns the same ones if there are none. */
  withoutKnown(bytes: Uint8Array): Uint8Array {
    const before = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const after = this.#replaceKnown(before);
    return after === before ? bytes : Buffer.from(after, "latin1");
  }

  #replaceKnown(latin1: string): string {
    return this.#forms.replaceIn(latin1, (secret) => this.#maskOf(secret));
  }

  #maskOf(secret: string): string {
    if (HEX.test(secret)) return Buffer.from(this.#maskOf(hexText(secret)), "latin1").toString("hex");
    if (!UNMASKED.test(secret)) return secret;
    const digest = createHmac("sha256", this.#key).update(secret, "latin1").digest();
    const bytes = Buffer.from(secret, "latin1");
    let count = 0;
    for (let at = 0; at < bytes.length; at++) {
      // In JSON, a letter behind a backslash is a part of an escape.
      if (!isMasked(bytes[at] ?? 0) || bytes[at - 1] === BACKSLASH) continue;
      bytes[at] = LETTERS.charCodeAt((digest[count++ % digest.length] ?? 0) % LETTERS.length);
    }
    return bytes.toString("latin1");
  }
}

const hexText = (hex: string): string => Buffer.from(hex, "hex").toString("latin1");
