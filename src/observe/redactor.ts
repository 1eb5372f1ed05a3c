import { SecretForms } from "./secret-forms.ts";

/** Takes secrets out of text that leaves the process: those it was told of, and whatever looks like one. */
export interface Redactor {
  /** Told of a live secret. Shorter ones than eight characters cannot be told from ordinary text, and are not kept. */
  add(secret: string, origin?: SecretOrigin): void;
  redact(text: string): string;
}

/**
 * Where a secret came from. `own` ones (settings, keys) are kept for ever. All others have lists of their own: callers
 * together, each account of ours, and each MCP server. None of these can push out a secret of another.
 */
export type SecretOrigin = "own" | "caller" | { readonly type: "account" | "server"; readonly name: string };

/**
 * How many are kept in one list; the longest unseen one makes room. A login of an account is told whole, and has at most
 * three secrets: the current one and those before it fit. At a server each principal may have tokens of its own.
 */
const MAX_KEPT = { own: Number.POSITIVE_INFINITY, caller: 256, account: 12, server: 256 } as const;

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
  const own = new Set<string>();
  const lists = new Map([["own", own]]);
  const listOf = (key: string): Set<string> => {
    const list = lists.get(key) ?? new Set();
    lists.set(key, list);
    return list;
  };
  return {
    add(secret, origin = "own") {
      if (secret.length < SecretForms.MIN_LENGTH || (origin !== "own" && own.has(secret))) return;
      const [type, key] =
        typeof origin === "string" ? [origin, origin] : [origin.type, `${origin.type} ${origin.name}`];
      const list = listOf(key);
      if (!list.delete(secret)) forms.add(secret);
      list.add(secret);
      if (list.size <= MAX_KEPT[type]) return;
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
