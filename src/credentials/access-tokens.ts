import type { AccessTokens } from "../core/access.ts";
import type { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { AccessSession, type SessionParts } from "./access-session.ts";
import { findLogin } from "./find-login.ts";
import type { CredentialSource } from "./source.ts";
import { createStoreSource } from "./sources/store.ts";

export interface AccessTokensOptions extends Pick<SessionParts, "store" | "auth" | "onNotice"> {
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
  const sessions = new Map<string | undefined, AccessSession>();
  const told = new Set<string>();
  const onProblem = ({ message }: ExcursorError): void => {
    if (told.has(message)) return;
    told.add(message);
    onNotice(message);
  };
  const sessionOf = (account: string | undefined): AccessSession => {
    const known = sessions.get(account);
    if (known) return known;
    const sources = account === undefined ? options.sources : [createStoreSource({ store, origin, account })];
    const find = () => findLogin(sources, now(), account === undefined ? onProblem : () => {});
    const onSecret = (secret: Secret) => options.onSecret(secret, account ?? "");
    const session = new AccessSession({ ...options, now, ticks, find, onSecret });
    sessions.set(account, session);
    return session;
  };
  return {
    get: (account) => sessionOf(account).get(),
    renew: (account, refused) => sessionOf(account).renew(refused),
  };
}
