import { createHash, type Hash, hash } from "node:crypto";

/** "excursor/v1:" in base64, which no other signature begins with. */
const MARK = "ZXhjdXJzb3IvdjE6";

/**
 * Returns our signature of a thinking block, for upstreams that do not sign. Clients send it back with the block. It
 * identifies the text and proves nothing else.
 */
export const mintSignature = (thinking: string): string => MARK + hash("sha256", thinking, "base64");

/** Characters to buffer before hashing: a hash call per token would cost more. */
const GATHERED = 16 * 1024;

/** Computes the signature of a streamed text without keeping the text. */
export class SignatureMint {
  #digest: Hash | undefined;
  #text = "";

  add(text: string): void {
    this.#text += text;
    if (this.#text.length < GATHERED) return;
    // Keeps a split surrogate pair together.
    const end = this.#text.length - (isHighSurrogate(this.#text) ? 1 : 0);
    this.#digest = (this.#digest ?? createHash("sha256")).update(this.#text.slice(0, end));
    this.#text = this.#text.slice(end);
  }

  mint(): string {
    return this.#digest ? MARK + this.#digest.update(this.#text).digest("base64") : mintSignature(this.#text);
  }
}

const isHighSurrogate = (text: string): boolean => /[\ud800-\udbff]$/.test(text);

/** The origin of a signature that a client sent back. */
export type ReturnedSignature =
  /** The upstream's own, sent back unchanged. */
  | { readonly type: "foreign"; readonly signature: string | undefined }
  /** Ours, and it matches the text. The upstream has never seen it. */
  | { readonly type: "ours" }
  /** Ours, but for another text: the client changed the thinking. */
  | { readonly type: "broken" };

export function readSignature(thinking: string, signature: string | null | undefined): ReturnedSignature {
  if (!signature) return { type: "foreign", signature: undefined };
  if (!signature.startsWith(MARK)) return { type: "foreign", signature };
  return signature === mintSignature(thinking) ? { type: "ours" } : { type: "broken" };
}
