import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AccessTokens } from "../../../src/core/access/access.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createAccessTokens } from "../../../src/credentials/access-tokens.ts";
import { type AccountStore, createAccountStore } from "../../../src/credentials/account-store.ts";
import { createAuthClient } from "../../../src/credentials/auth-client.ts";
import type { CredentialSource } from "../../../src/credentials/source.ts";
import { createStoreSource } from "../../../src/credentials/sources/store.ts";
import { issueTokens } from "../../../src/sim/accounts.ts";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";

export function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "excursor-accounts-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

export interface AccountsStage {
  readonly home: string;
  readonly url: string;
  readonly store: AccountStore;
  readonly notices: string[];
  /** How often tokens were renewed at the backend. */
  refreshes(): number;
  /** As one process has them. */
  open(options?: OpenOptions): AccessTokens;
  /** Signs an account in, with tokens that live for so many seconds. */
  signIn(name: string, options?: SignInOptions): Promise<{ readonly access: string; readonly refresh: string }>;
  closeBackend(): Promise<void>;
}

interface OpenOptions {
  readonly now?: () => number;
  readonly ticks?: () => number;
  readonly sources?: readonly CredentialSource[];
  readonly onSecret?: (secret: Secret, account: string) => void;
}

interface SignInOptions {
  readonly ttlS?: number;
  readonly origin?: string;
  readonly refresh?: string;
  readonly apiKey?: string;
}

/** A simulated backend, and a home folder with accounts of it. */
export async function setUpAccounts(options: Partial<SimOptions> = {}): Promise<AccountsStage> {
  const trace: TraceEntry[] = [];
  const backend = await startSim({ trace: (entry) => trace.push(entry), ...options });
  const transport = createHttp1Transport();
  const closeBackend = () => backend.close();
  onTestFinished(closeBackend);
  onTestFinished(() => transport.destroy());
  const home = makeHome();
  const notices: string[] = [];
  const onNotice = (text: string) => notices.push(text);
  const store = createAccountStore({ home, keychain: undefined, onNotice });
  const { url: origin } = backend;
  const auth = createAuthClient({ transport, origin });
  return {
    home,
    url: origin,
    store,
    notices,
    refreshes: () => trace.filter(({ message }) => JSON.stringify(message).includes("exchange_user_api_key")).length,
    open: ({ sources = [createStoreSource({ store, origin, account: undefined })], ...more } = {}) =>
      createAccessTokens({ store, auth, origin, sources, onSecret: () => {}, onNotice, ...more }),
    async signIn(name, { ttlS = 3600, apiKey, ...given } = {}) {
      const made = issueTokens(`auth0|user_${name}`, ttlS);
      const refresh = given.refresh ?? made.refreshToken;
      const login = {
        access: new Secret(made.accessToken),
        refresh: new Secret(refresh),
        apiKey: apiKey === undefined ? undefined : new Secret(apiKey),
      };
      await store.lock.run(() => store.write({ name, origin: given.origin ?? origin, login }));
      return { access: made.accessToken, refresh };
    },
    closeBackend,
  };
}
