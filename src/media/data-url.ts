import { imageError, tooLarge } from "./image-errors.ts";

const HEAD = /^data:[^,]{0,200}?;base64$/i;

/** Returns the bytes of a base64 data URL. Rejects large ones before decoding. */
export function readDataUrl(url: string, maxBytes: number): Buffer {
  const comma = url.indexOf(",");
  if (comma < 0 || comma > 256 || !HEAD.test(url.slice(0, comma))) {
    throw imageError("image_url_invalid", "The image's data URL is not of the form data:image/…;base64,….");
  }
  const payload = url.slice(comma + 1);
  // Allows for line breaks in the base64, and nothing more.
  if (payload.length > base64Length(maxBytes) * LINE_BREAKS) throw tooLarge(maxBytes);
  const text = (/\s/.test(payload) ? payload.replace(/\s+/g, "") : payload).replace(/={1,2}$/, "");
  const size = Math.floor((text.length * 3) / 4);
  if (size > maxBytes) throw tooLarge(maxBytes);
  const bytes = Buffer.from(text, "base64");
  // Node skips invalid characters, so a wrong size means invalid base64.
  if (text.length % 4 === 1 || bytes.length !== size) {
    throw imageError("image_url_invalid", "The image's data URL is not valid base64.");
  }
  return bytes;
}

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;
const LINE_BREAKS = 1 + 2 / 60;
