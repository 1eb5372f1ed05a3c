import { hash } from "node:crypto";

/** "excursor/v1:" in base64: signatures are base64, and nobody else's begins like this. */
const MARK = "ZXhjdXJzb3IvdjE6";

/**
 * Clients keep a thinking block with its signature and send both back, unread. Where the upstream signs nothing, the
 * signature is ours: it says which text it belongs to, and proves nothing beyond that.
 */
export const mintSignature = (thinking: string): string => MARK + hash("sha256", thinking, "base64");

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
