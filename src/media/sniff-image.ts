/** Returns the media type by the first bytes, for the four kinds that models accept. Ignores the declared type. */
export function sniffImage(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n") && head.endsWith("IHDR")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  if (head.startsWith("RIFF") && /^WEBPVP8[ LX]$/.test(head.slice(8))) return "image/webp";
  return undefined;
}
