import type { Secret } from "../../core/secret.ts";

/**
 * Where sign-ins at MCP servers are kept, one secret text for each. It belongs to a name and an address: a server of the
 * same name elsewhere gets nothing of it.
 */
export interface LoginStore {
  /** Whoever changes something holds it from the look to the write, in all processes. */
  readonly lock: { run<T>(work: () => Promise<T> | T): Promise<T> };
  /** Another one after every change, whoever made it; costs next to nothing. */
  stamp(): string;
  read(name: string, url: string): Promise<Secret | undefined>;
  write(name: string, url: string, login: Secret): Promise<void>;
  /** False if there was none. */
  remove(name: string): Promise<boolean>;
}

/** One that forgets: for a sign-in that is not finished yet. */
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
