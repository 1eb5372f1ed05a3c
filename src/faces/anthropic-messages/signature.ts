import { createHash, type Hash, hash } from "node:crypto";

/** "excursor/v1:" in base64: signatures are base64, and nobody else's begins like this. */
const MARK = "ZXhjdXJzb3IvdjE6";

/**
 * Clients keep a thinking block with its signature and send both back, unread. Where the upstream signs nothing, the
 * signature is ours: it says which text it belongs to, and proves nothing beyond that.
 */
export const mintSignature = (thinking: string): string => MARK + hash("sha256", thinking, "base64");

/** As many characters are gathered before they are digested: a call of its own for each token would cost more. */
const GATHERED = 16 * 1024;

/** Mints the signature of a text that comes in pieces, and keeps next to nothing of it. */
export class SignatureMint {
  #digest: Hash | undefined;
  #text = "";

  add(text: string): void {
    this.#text += text;
    if (this.#text.length < GATHERED) return;
    // Half a character is digested with its other half.
    const end = this.#text.length - (isHighSurrogate(this.#text) ? 1 : 0);
    this.#digest = (this.#digest ?? createHash("sha256")).update(this.#text.slice(0, end));
    this.#text = this.#text.slice(end);
  }

  mint(): string {
    return this.#digest ? MARK + this.#digest.update(this.#text).digest("base64") : mintSignature(this.#text);
  }
}

const isHighSurrogate = (text: string): boolean => /[\ud800-\udbff]$/.test(text);

/** What a signature that came back is to the upstream. */
export type ReturnedSignature =
  /** Its own: it goes back as it came. */
  | { readonly type: "foreign"; readonly signature: string | undefined }
  /** Ours, for this text: the upstream has never seen it. */
  | { readonly type: "ours" }
  /** Ours, for another text: this one is not what the model thought. */
  | { readonly type: "broken" };

export function readSignature(thinking: string, signature: string | null | undefined): ReturnedSignature {
  if (!signature) return { type: "foreign", signature: undefined };
  if (!signature.startsWith(MARK)) return { type: "foreign", signature };
  return signature === mintSignature(thinking) ? { type: "ours" } : { type: "broken" };
}
