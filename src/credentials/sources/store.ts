import { ExcursorError } from "../../core/errors.ts";
import { type AccountStore, DEFAULT_ACCOUNT } from "../account-store.ts";
import type { CredentialSource } from "../source.ts";

export interface StoreSourceOptions {
  readonly store: AccountStore;
  /** The configured backend. Accounts of other backends are ignored. */
  readonly origin: string;
  /** Undefined: the account named `default`, else the only one. */
  readonly account: string | undefined;
}

/** The accounts that `excursor login` has signed in. */
export function createStoreSource({ store, origin, account }: StoreSourceOptions): CredentialSource {
  return {
    id: "store",
    place: store.path,
    async find() {
      const name = account ?? chooseAccount(store, origin);
      const found = name === undefined ? undefined : await store.read(name);
      if (!found) {
        if (account === undefined) return undefined;
        throw unknownAccount(
          account,
          store.list().map((entry) => entry.name),
        );
      }
      if (found.origin !== origin) throw wrongBackend(found.name, found.origin, origin);
      return { login: found.login, account: found.name, isForeign: false };
    },
  };
}

function chooseAccount(store: AccountStore, origin: string): string | undefined {
  const names = store.list().flatMap((entry) => (entry.origin === origin ? [entry.name] : []));
  if (names.length < 2 || names.includes(DEFAULT_ACCOUNT))
    return names.includes(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : names[0];
  throw new ExcursorError("which_account", [names.join(", ")]);
}

export function unknownAccount(name: string, known: readonly string[]): ExcursorError {
  const others = known.length === 0 ? "no account is signed in" : `known accounts: ${known.join(", ")}`;
  return new ExcursorError("unknown_account", [JSON.stringify(name), others, /^[\w.@-]+$/.test(name) ? name : "NAME"]);
}

const wrongBackend = (name: string, its: string, ours: string): ExcursorError =>
  new ExcursorError("wrong_backend", [name, its, ours]);
