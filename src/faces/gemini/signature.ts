const MARK = "excursor/v1:";

/** Returns an upstream's signature as Google's clients expect one: bytes in base64. */
export const wrapSignature = (signature: string): string => Buffer.from(MARK + signature).toString("base64");

/** Returns the upstream's signature out of one that a client sent back; undefined if it is not ours. */
export function unwrapSignature(given: string): string | undefined {
  const text = Buffer.from(given, "base64").toString();
  return text.startsWith(MARK) ? text.slice(MARK.length) : undefined;
}
