import type { Image } from "../script/conversation.ts";

/** An image by its declared type, or by its first bytes where the client left that out. */
export const describeImage = (bytes: Uint8Array, declaredType: string): Image => ({
  type: declaredType || sniff(bytes) || "application/octet-stream",
  bytes: bytes.length,
});

function sniff(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}
