import type { FilePart } from "../../core/turn.ts";
import { invalid } from "./errors/invalid.ts";

const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:json|xml|yaml|toml|sql|javascript|typescript|graphql|x-(?:sh|yaml|ndjson|javascript|typescript|httpd-php)|.*\+(?:json|xml|yaml)))$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Reads an attached text file: a data URL, bare base64 (as in OpenAI's documentation), or plain text. Rejects
 * everything that is not text.
 */
export function readFile(name: string, data: string, field: string): FilePart {
  return { type: "file", name, text: data.startsWith("data:") ? fromDataUrl(data, field) : fromBare(data, field) };
}

function fromDataUrl(url: string, field: string): string {
  const comma = url.indexOf(",");
  if (comma === -1) throw invalid(field, "expected a data URL with a comma before its data");
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).toLowerCase().split(";");
  if (mediaType !== "" && mediaType !== "application/octet-stream" && !TEXT_TYPE.test(mediaType)) {
    throw invalid(field, `expected a text file, got ${JSON.stringify(mediaType.slice(0, 64))}`);
  }
  const data = url.slice(comma + 1);
  return parameters.includes("base64") ? fromBase64(data, field) : fromPercent(data, field);
}

/** A short text may look like base64 by chance, a whole file does not. */
const fromBare = (data: string, field: string): string =>
  data.length >= 16 && data.length % 4 === 0 && BASE64.test(data) ? fromBase64(data, field) : data;

function fromBase64(data: string, field: string): string {
  const text = Buffer.from(data, "base64").toString("utf8");
  if (text.includes("\0")) throw invalid(field, "expected a text file, got bytes that are not text");
  return text;
}

function fromPercent(data: string, field: string): string {
  try {
    return decodeURIComponent(data);
  } catch {
    throw invalid(field, "expected a data URL with valid percent encoding");
  }
}
