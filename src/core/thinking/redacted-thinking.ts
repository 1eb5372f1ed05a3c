/**
 * Marks redacted thinking: it has no text, only encrypted data that must be sent back unchanged. It is represented as thinking
 * without text, with this prefix and the data as its signature. A real signature is base64, so it has no colon.
 */
const MARK = "redacted:";

export const redactedSignature = (data: string): string => MARK + data;

/** Returns the encrypted data of redacted thinking; undefined for a real signature. */
export const redactedData = (signature: string): string | undefined =>
  signature.startsWith(MARK) ? signature.slice(MARK.length) : undefined;
