import { SecretForms } from "./secret-forms.ts";

/** Takes secrets out of text that leaves the process: those it was told of, and whatever looks like one. */
export interface Redactor {
  /** Told of a live secret. Shorter ones than eight characters cannot be told from ordinary text, and are not kept. */
  add(secret: string, origin?: SecretOrigin): void;
  redact(text: string): string;
}

/**
 * Where a secret came from. `own` ones (settings, keys) are kept for ever. `renewed` ones (tokens of our accounts)
 * and `caller` ones (tokens that came with a request) are kept in lists of their own, so that no caller can push out
 * a secret of the gateway.
 */
type SecretOrigin = "own" | "renewed" | "caller";

/** The longest unseen one makes room. */
const MAX_KEPT: Readonly<Record<SecretOrigin, number>> = { own: Number.POSITIVE_INFINITY, renewed: 512, caller: 256 };

const REDACTED = "[redacted]";

/** None of these can run on over a quote or a backslash, so that a JSON line stays one. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\bBearer(?: |%20)+[^\s"'\\,;]{8,}/gi, `Bearer ${REDACTED}`],
  [/\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g, REDACTED],
  [/\b(?:exc|crsr|sk)[-_][\w-]{20,}/g, REDACTED],
  // A password in an address.
  [/(:\/\/[^\s"'\\/?#@:]*:)[^\s"'\\/?#@]+@/g, `$1${REDACTED}@`],
  [/\b(WorkosCursorSessionToken=)[^\s"'\\;]+/g, `$1${REDACTED}`],
];

export function createRedactor(): Redactor {
  const forms = new SecretForms(REDACTED);
  const kept = { own: new Set<string>(), renewed: new Set<string>(), caller: new Set<string>() };
  return {
    add(secret, origin = "own") {
      if (secret.length < SecretForms.MIN_LENGTH || (origin !== "own" && kept.own.has(secret))) return;
      const list = kept[origin];
      if (!list.delete(secret)) forms.add(secret);
      list.add(secret);
      if (list.size <= MAX_KEPT[origin]) return;
      const [oldest = ""] = list;
      list.delete(oldest);
      forms.remove(oldest);
    },
    redact(text) {
      let clean = forms.replaceIn(text);
      for (const [shape, replacement] of SHAPES) clean = clean.replace(shape, replacement);
      return clean;
    },
  };
}
