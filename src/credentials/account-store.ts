import { join } from "node:path";
import { fileStamp } from "../config/file-stamp.ts";
import { createHomeLock } from "../config/home-lock.ts";
import { ExcursorError } from "../core/errors.ts";
import type { ProcessLock } from "../files/process-lock.ts";
import { readAccounts, type WrittenAccount, writeAccounts } from "./account-file.ts";
import { type Keychain, keychainEntry, tryKeychain } from "./keychain.ts";
import { formatSeed, type Login, parseSeed, secretOf } from "./login.ts";

export interface Account {
  readonly name: string;
  /** The backend that it belongs to. Its tokens are never sent to another. */
  readonly origin: string;
  readonly login: Login;
}

interface AccountEntry {
  readonly name: string;
  readonly origin: string;
  readonly kept: "file" | "keychain";
}

/** The accounts, by name. Reading needs no lock. A writer holds the lock from its read to its write. */
export interface AccountStore {
  readonly path: string;
  readonly lock: ProcessLock;
  /** Returns a value that differs after every change by any process. Cheap. */
  stamp(): string;
  list(): readonly AccountEntry[];
  read(name: string): Promise<Account | undefined>;
  write(account: Account): Promise<"file" | "keychain">;
  /** Returns false if there was none. */
  remove(name: string): Promise<boolean>;
}

export interface AccountStoreOptions {
  readonly home: string;
  /** Secrets are stored here if it is usable. Undefined: in the file. */
  readonly keychain: Keychain | undefined;
  readonly onNotice: (text: string) => void;
}

export const DEFAULT_ACCOUNT = "default";

export function createAccountStore({ home, keychain, onNotice }: AccountStoreOptions): AccountStore {
  const path = join(home, "accounts.json");
  const read = () => readAccounts(path, onNotice);
  const change = (keepsPrevious: boolean, edit: (accounts: Map<string, WrittenAccount>) => void) => {
    let isDamaged = false;
    const accounts = new Map(
      readAccounts(path, (text) => {
        isDamaged = true;
        onNotice(text);
      }),
    );
    edit(accounts);
    // A damaged file must not replace the previous version.
    writeAccounts(path, accounts, keepsPrevious && !isDamaged);
  };
  const entryOf = (name: string) => keychainEntry(home, name);
  return {
    path,
    lock: createHomeLock(home, "accounts.lock"),
    stamp: () => fileStamp(path),
    list: () => [...read()].map(([name, { origin, kept }]) => ({ name, origin, kept })),
    async read(name) {
      const account = read().get(name);
      if (!account) return undefined;
      const { origin } = account;
      if (account.kept === "file") return { name, origin, login: loginOf(account) };
      if (!keychain) throw notInFile(name);
      const text = await keychain.read(entryOf(name));
      return text === undefined ? undefined : { name, origin, login: loginOf(parseEntry(text)) };
    },
    async write({ name, origin, login }) {
      // The keychain before the file: if the process dies in between, the file still refers to the newer login.
      const isInKeychain = await tryKeychain(keychain, entryOf(name), JSON.stringify(written(login)), (message) =>
        onNotice(`${message} The login is stored in ${path} instead.`),
      );
      const kept = isInKeychain ? "keychain" : "file";
      const savedAt = new Date().toISOString();
      change(true, (accounts) =>
        accounts.set(name, kept === "file" ? { kept, origin, savedAt, ...written(login) } : { kept, origin, savedAt }),
      );
      return kept;
    },
    async remove(name) {
      const account = read().get(name);
      if (!account) return false;
      if (account.kept === "keychain") await keychain?.remove(entryOf(name));
      change(false, (accounts) => accounts.delete(name));
      return true;
    },
  };
}

/** The form in which the file and the keychain store a login. */
function written(login: Login): { readonly access?: string; readonly refresh: string } {
  return { ...(login.access && { access: login.access.reveal() }), refresh: formatSeed(login) };
}

function loginOf({ access, refresh }: { readonly access?: unknown; readonly refresh?: unknown }): Login {
  return { access: secretOf(access), ...parseSeed(typeof refresh === "string" ? refresh : "") };
}

function parseEntry(text: string): { readonly access?: unknown; readonly refresh?: unknown } {
  try {
    const entry: unknown = JSON.parse(text);
    return typeof entry === "object" && entry !== null ? entry : {};
  } catch {
    return {};
  }
}

const notInFile = (name: string): ExcursorError => new ExcursorError("keychain_off", [name]);
