import { isSecretName } from "../../core/access/secret-scanner.ts";
import type { Masker } from "./masker.ts";

type Headers = Readonly<Record<string, string>>;

const SECRET_HEADERS: ReadonlySet<string> = new Set(["x-cursor-checksum", "x-client-key"]);

/** True if the whole value of a header is a secret. */
export const isSecretHeader = (name: string): boolean => SECRET_HEADERS.has(name) || isSecretName(name);

/** Registers what headers say in secret, which a message may repeat. */
export function learnHeaders(headers: Headers, masker: Masker): void {
  for (const [name, value] of Object.entries(headers)) {
    if (isSecretHeader(name)) for (const part of value.split(/[\s;,]+|(?<=\w)=/)) masker.add(part);
  }
}

/** Masks headers that carry credentials, and the others as `maskValue` does. */
export const maskHeaders = (headers: Headers, masker: Masker, maskValue: (value: string) => string): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      isSecretHeader(name) ? maskSecret(value, masker) : maskValue(value),
    ]),
  );

/** Masks every word, however short, but the scheme of an authorization. */
function maskSecret(value: string, masker: Masker): string {
  const [scheme = ""] = /^(?:Bearer|Basic) +/i.exec(value) ?? [];
  return scheme + value.slice(scheme.length).replace(/[^\s;,=]+/g, (word) => masker.word(word));
}
