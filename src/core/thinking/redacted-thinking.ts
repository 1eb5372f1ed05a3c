/**
 * Thinking that is sealed whole: there is no text, and the sealed data must go back as it came. Outside it is thinking
 * without text, whose signature is the data with this before it; a real signature is base64 and has no colon.
 */
const MARK = "redacted:";

export const redactedSignature = (data: string): string => MARK + data;

/** The sealed data, if that is what the signature is. */
export const redactedData = (signature: string): string | undefined =>
  signature.startsWith(MARK) ? signature.slice(MARK.length) : undefined;
