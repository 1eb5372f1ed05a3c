import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Secret } from "../../core/secret.ts";
import type { Thought } from "../../core/thinking/thoughts.ts";

/** Encrypts thinking for `encrypted_content`. Clients send it back; they can neither read nor forge it. */
export interface ReasoningSeal {
  seal(thought: Thought, principalId: string): string;
  /** Returns undefined if the text is not ours, is another principal's, or was changed. */
  open(sealed: string, principalId: string): Thought | undefined;
}

const PREFIX = "exr1.";
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

export function createReasoningSeal(secret: Secret): ReasoningSeal {
  const key = new Uint8Array(hkdfSync("sha256", secret.reveal(), "", "excursor reasoning 1", 32));
  return {
    seal({ text, signature }, principalId) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(principalId));
      const data = Buffer.concat([cipher.update(JSON.stringify([text, signature ?? null])), cipher.final()]);
      return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), data]).toString("base64url");
    },
    open(sealed, principalId) {
      if (!sealed.startsWith(PREFIX)) return undefined;
      const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64url");
      if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(principalId)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        const json = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
        const [text, signature] = JSON.parse(json) as [string, string | null];
        return { text, signature: signature ?? undefined };
      } catch {
        return undefined;
      }
    },
  };
}
