/** Takes secrets out of text that leaves the process: those it was told of, and whatever looks like one. */
export interface Redactor {
  /** Told of a live secret. Shorter ones than eight characters cannot be told from ordinary text, and are not kept. */
  add(secret: string): void;
  redact(text: string): string;
}

const MIN_LENGTH = 8;

/** The halves of a secret give most of it away; halves shorter than this would redact ordinary words. */
const MIN_HALF_LENGTH = 16;

const REDACTED = "[redacted]";

/** Secrets that callers bring come and go: the longest unseen one makes room. */
const MAX_SECRETS = 256;

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
  const forms = new Map<string, readonly string[]>();
  return {
    add(secret) {
      if (secret.length < MIN_LENGTH) return;
      const known = forms.get(secret) ?? formsOf(secret);
      forms.delete(secret);
      forms.set(secret, known);
      if (forms.size <= MAX_SECRETS) return;
      for (const oldest of forms.keys()) {
        forms.delete(oldest);
        break;
      }
    },
    redact(text) {
      let clean = text;
      for (const known of forms.values()) {
        for (const form of known) if (clean.includes(form)) clean = clean.replaceAll(form, REDACTED);
      }
      for (const [shape, replacement] of SHAPES) clean = clean.replace(shape, replacement);
      return clean;
    },
  };
}

/** How a secret may be written, the longest first: else a half would be taken out of the whole and leave the rest. */
function formsOf(secret: string): readonly string[] {
  const half = secret.slice(0, Math.ceil(secret.length / 2));
  const bytes = Buffer.from(secret);
  const written = [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString("base64"),
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    ...(half.length >= MIN_HALF_LENGTH ? [half] : []),
  ];
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}
