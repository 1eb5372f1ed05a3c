/** Returns an image's declared type, or else the one detected from its first bytes. */
export const imageTypeOf = (bytes: Uint8Array, declaredType: string): string =>
  declaredType || sniff(bytes) || "application/octet-stream";

function sniff(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}
