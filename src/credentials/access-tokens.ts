import type { AccessTokens } from "../core/access/access.ts";
import type { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { AccountToken, type AccountTokenParts } from "./account-token.ts";
import { findLogin } from "./find-login.ts";
import type { CredentialSource } from "./source.ts";
import { createStoreSource } from "./sources/store.ts";

export interface AccessTokensOptions extends Pick<AccountTokenParts, "store" | "auth" | "onNotice"> {
  /** Called with every secret and its account. The empty name is the gateway's own account. */
  readonly onSecret: (secret: Secret, account: string) => void;
  readonly origin: string;
  /** Where the gateway's own login may be, in order of precedence. */
  readonly sources: readonly CredentialSource[];
  readonly now?: () => number;
  /** A monotonic clock, in milliseconds. Defaults to `now` if that is given. */
  readonly ticks?: () => number;
}

/** Returns the tokens of all accounts of this machine. Each key uses one account; there is no fallback to another. */
export function createAccessTokens(options: AccessTokensOptions): AccessTokens {
  const { store, origin, now = Date.now, onNotice } = options;
  const { ticks = options.now ?? (() => performance.now()) } = options;
  const tokens = new Map<string | undefined, AccountToken>();
  const reported = new Set<string>();
  const onProblem = ({ message }: ExcursorError): void => {
    if (reported.has(message)) return;
    reported.add(message);
    onNotice(message);
  };
  const tokenOf = (account: string | undefined): AccountToken => {
    const known = tokens.get(account);
    if (known) return known;
    const sources = account === undefined ? options.sources : [createStoreSource({ store, origin, account })];
    const find = () => findLogin(sources, now(), account === undefined ? onProblem : () => {});
    const onSecret = (secret: Secret) => options.onSecret(secret, account ?? "");
    const token = new AccountToken({ ...options, now, ticks, find, onSecret });
    tokens.set(account, token);
    return token;
  };
  return {
    get: (account) => tokenOf(account).get(),
    renew: (account, refused) => tokenOf(account).renew(refused),
  };
}
