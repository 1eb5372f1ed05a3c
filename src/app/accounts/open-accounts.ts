import { homedir } from "node:os";
import { backendOrigin, CURSOR_ORIGIN } from "../../config/backend-origin.ts";
import type { AccessTokens } from "../../core/access/access.ts";
import type { Secret } from "../../core/secret.ts";
import { createAccessTokens } from "../../credentials/access-tokens.ts";
import { type AccountStore, createAccountStore } from "../../credentials/account-store.ts";
import { type AuthClient, createAuthClient } from "../../credentials/auth-client.ts";
import { createKeychain } from "../../credentials/keychain.ts";
import type { CredentialSource } from "../../credentials/source.ts";
import { createCursorCliSource } from "../../credentials/sources/cursor-cli.ts";
import { createCursorIdeSource } from "../../credentials/sources/cursor-ide.ts";
import { createEnvironmentSource } from "../../credentials/sources/environment.ts";
import { createMacosKeychainSource } from "../../credentials/sources/macos-keychain.ts";
import { createRequestSource } from "../../credentials/sources/request.ts";
import { createStoreSource } from "../../credentials/sources/store.ts";
import type { Log } from "../../observe/log.ts";
import { isLoopback } from "../../server/gate/public-bind.ts";
import { createHttp1Transport } from "../../wire/http/h1-transport.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import { proxyFromEnvironment } from "../../wire/http/proxy.ts";
import type { LoadedConfig } from "../load-config.ts";
import { observeAccounts } from "../observe-upstream.ts";

export interface OpenAccountsOptions {
  /** Called with each secret of an account and the account's name, which is empty for the gateway's own. */
  readonly onSecret: (secret: Secret, account: string) => void;
  readonly onNotice: (text: string) => void;
  /** Logs the calls to the backend, at the levels debug and trace. */
  readonly log?: Log;
}

/** The signed-in accounts, and the services behind them. */
export interface Accounts {
  readonly origin: string;
  readonly store: AccountStore;
  readonly auth: AuthClient;
  readonly transport: HttpTransport;
  /** In order of precedence for the gateway's own account. */
  readonly sources: readonly CredentialSource[];
  readonly access: AccessTokens;
  close(): void;
}

export function openAccounts({ values: config, home }: LoadedConfig, options: OpenAccountsOptions): Accounts {
  const origin = backendOrigin(config.upstream);
  const plain = createHttp1Transport({ findProxy: proxyFromEnvironment(process.env) });
  const transport = options.log ? observeAccounts(plain, config.logLevel, options.log) : plain;
  const keychain = config.keychain === "off" ? undefined : createKeychain();
  const store = createAccountStore({ home, keychain, onNotice: options.onNotice });
  const auth = createAuthClient({ transport, origin });
  const { account } = config;
  const own = createStoreSource({ store, origin, account });
  const environment = createEnvironmentSource({ token: config.token, environment: process.env });
  const request = createRequestSource(config.allowTokens ?? isLoopback(config.host));
  // A named account is the only source. Logins of Cursor's own programs are sent to no other backend (SEC-13).
  const sources =
    account !== undefined
      ? [own]
      : [environment, own, ...(origin === CURSOR_ORIGIN ? foreignSources(home) : []), request];
  return {
    origin,
    store,
    auth,
    transport,
    sources,
    access: createAccessTokens({ store, auth, origin, sources, ...options }),
    close: () => transport.destroy(),
  };
}

export function foreignSources(home: string): readonly CredentialSource[] {
  const machine = { platform: process.platform, environment: process.env, homeFolder: homedir() };
  return [
    createCursorCliSource(machine),
    ...(machine.platform === "darwin" ? [createMacosKeychainSource(machine)] : []),
    createCursorIdeSource({ ...machine, home }),
  ];
}
