import { replaceSecrets } from "../core/access/secret-scanner.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { SecretForms } from "./secret-forms.ts";

/** Removes secrets from text that leaves the process: registered secrets, and anything that looks like a secret. */
export interface Redactor {
  /** Registers a secret. Ignores secrets of fewer than eight characters, which occur in ordinary text. */
  add(secret: string, origin?: SecretOrigin): void;
  redact(text: string): string;
}

/**
 * Where a secret came from. `own` secrets (settings, keys) are kept forever. There is one list for all callers, one for
 * each account and one for each MCP server. None of these lists can push out a secret of another.
 */
export type SecretOrigin = "own" | "caller" | { readonly type: "account" | "server"; readonly name: string };

/**
 * How many secrets a list keeps; the least recently seen is dropped. An account has at most three secrets at a time, so
 * its current and earlier ones fit. At an MCP server each principal may have tokens.
 */
const MAX_KEPT = { own: Number.POSITIVE_INFINITY, caller: 256, account: 12, server: 256 } as const;

const REDACTED = "[redacted]";

/** Knows these secrets from the beginning. */
export function createRedactor(secrets: readonly string[] = []): Redactor {
  const forms = new SecretForms();
  const lists = new Map<string, BoundedMap<string, true>>();
  const listOf = (key: string, max: number) => {
    const list = lists.get(key) ?? new BoundedMap(max, { onEvicted: (_, secret) => forms.remove(secret) });
    lists.set(key, list);
    return list;
  };
  const own = listOf("own", MAX_KEPT.own);
  const redactor: Redactor = {
    add(secret, origin = "own") {
      if (secret.length < SecretForms.MIN_LENGTH || (origin !== "own" && own.has(secret))) return;
      const [type, key] =
        typeof origin === "string" ? [origin, origin] : [origin.type, `${origin.type} ${origin.name}`];
      const list = listOf(key, MAX_KEPT[type]);
      if (!list.has(secret)) forms.add(secret);
      list.set(secret, true);
    },
    redact(text) {
      return replaceSecrets(
        forms.replaceIn(text, () => REDACTED),
        () => REDACTED,
      );
    },
  };
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}
