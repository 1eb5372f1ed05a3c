import type { Secret } from "../../core/secret.ts";

/**
 * Stores sign-ins at MCP servers, one secret text for each. A sign-in belongs to a name and an address, so a server of
 * the same name elsewhere does not get it.
 */
export interface LoginStore {
  /** A writer holds it from its read to its write. It spans processes. */
  readonly lock: { run<T>(work: () => Promise<T> | T): Promise<T> };
  /** Returns a value that differs after every change by any process. Cheap. */
  stamp(): string;
  read(name: string, url: string): Promise<Secret | undefined>;
  write(name: string, url: string, login: Secret): Promise<void>;
  /** Returns false if there was none. */
  remove(name: string): Promise<boolean>;
}

/** Creates a store in memory, for a sign-in that is not finished yet. */
export function createMemoryLogins(): LoginStore {
  const logins = new Map<string, { readonly url: string; readonly login: Secret }>();
  let changes = 0;
  return {
    lock: { run: async (work) => work() },
    stamp: () => String(changes),
    read: async (name, url) => {
      const kept = logins.get(name);
      return kept?.url === url ? kept.login : undefined;
    },
    write: async (name, url, login) => {
      changes++;
      logins.set(name, { url, login });
    },
    remove: async (name) => {
      changes++;
      return logins.delete(name);
    },
  };
}
