/** The first characters of every form, which are hashed. */
const WINDOW = 8;
const TABLE_SIZE = 1 << 16;
const BASE = 0x01_00_01_93;
/** `BASE ** (WINDOW - 1)`, to remove the oldest character from the hash. */
const OLDEST = Array.from({ length: WINDOW - 1 }).reduce<number>((power) => Math.imul(power, BASE), 1);

/** Half of a secret is redacted, too, unless it is so short that it may be an ordinary word. */
const MIN_HALF_LENGTH = 16;

interface Form {
  readonly text: string;
  /** Two secrets may share a form. */
  users: number;
}

/**
 * Finds many secrets in a text, each in all forms in which it may be written. Uses a rolling hash (Rabin-Karp), so that
 * the time does not grow with the number of secrets.
 */
export class SecretForms {
  static readonly MIN_LENGTH = WINDOW;
  /** Forms by the hash of their first characters. */
  readonly #byHash = new Map<number, Form[]>();
  #shortest = Number.POSITIVE_INFINITY;
  /** How many hashes fall into each slot. Most positions of a text are rejected by one lookup. */
  readonly #table = new Uint16Array(TABLE_SIZE);

  /** No form is shorter. */
  get shortest(): number {
    return this.#shortest;
  }

  add(secret: string): void {
    for (const text of formsOf(secret)) {
      this.#shortest = Math.min(this.#shortest, text.length);
      const hash = hashOf(text);
      const forms = this.#byHash.get(hash) ?? [];
      const known = forms.find((form) => form.text === text);
      if (known) known.users++;
      else forms.push({ text, users: 1 });
      if (this.#byHash.has(hash)) continue;
      this.#byHash.set(hash, forms);
      this.#count(hash, 1);
    }
  }

  remove(secret: string): void {
    for (const text of formsOf(secret)) {
      const hash = hashOf(text);
      const forms = this.#byHash.get(hash) ?? [];
      const index = forms.findIndex((form) => form.text === text);
      const form = forms[index];
      if (!form || --form.users > 0) continue;
      forms.splice(index, 1);
      if (forms.length > 0) continue;
      this.#byHash.delete(hash);
      this.#count(hash, -1);
    }
  }

  /** Replaces each secret by what `replacement` returns for it and its place. */
  replaceIn(text: string, replacement: (secret: string, start: number) => string): string {
    let clean = "";
    let done = 0;
    for (const [start, end] of this.#rangesIn(text)) {
      clean += text.slice(done, start) + replacement(text.slice(start, end), start);
      done = end;
    }
    return done === 0 ? text : clean + text.slice(done);
  }

  /** Where secrets are, in order. Matches that overlap are one. */
  #rangesIn(text: string): readonly (readonly [number, number])[] {
    if (this.#byHash.size === 0 || text.length < WINDOW) return [];
    const ranges: [number, number][] = [];
    let hash = 0;
    for (let at = 0; at < WINDOW - 1; at++) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
    for (let start = 0; start + WINDOW <= text.length; start++) {
      hash = (Math.imul(hash, BASE) + text.charCodeAt(start + WINDOW - 1)) | 0;
      if (this.#table[hash & (TABLE_SIZE - 1)] !== 0) {
        const length = this.#longestAt(text, start, hash);
        const last = ranges.at(-1);
        if (length > 0 && last && start < last[1]) last[1] = Math.max(last[1], start + length);
        else if (length > 0) ranges.push([start, start + length]);
      }
      hash = (hash - Math.imul(text.charCodeAt(start), OLDEST)) | 0;
    }
    return ranges;
  }

  #count(hash: number, by: number): void {
    const place = hash & (TABLE_SIZE - 1);
    this.#table[place] = (this.#table[place] ?? 0) + by;
  }

  #longestAt(text: string, start: number, hash: number): number {
    let longest = 0;
    for (const form of this.#byHash.get(hash) ?? []) {
      if (form.text.length > longest && text.startsWith(form.text, start)) longest = form.text.length;
    }
    return longest;
  }
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < WINDOW; at++) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
  return hash;
}

/** Returns the forms in which a secret may be written. */
function formsOf(secret: string): ReadonlySet<string> {
  const half = secret.slice(0, Math.ceil(secret.length / 2));
  const bytes = Buffer.from(secret);
  return new Set([
    secret,
    // An unpaired surrogate cannot be encoded.
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString("base64"),
    bytes.toString("base64").replace(/={1,2}$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    ...(half.length >= MIN_HALF_LENGTH ? [half] : []),
  ]);
}
