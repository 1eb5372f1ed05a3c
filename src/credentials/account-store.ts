import { hash } from "node:crypto";
import { join } from "node:path";
import { fileStamp } from "../config/file-stamp.ts";
import { createHomeLock } from "../config/home-lock.ts";
import { ExcursorError } from "../core/errors.ts";
import type { ProcessLock } from "../files/process-lock.ts";
import { readAccounts, type WrittenAccount, writeAccounts } from "./account-file.ts";
import type { Keychain } from "./keychain.ts";
import { formatSeed, type Login, parseSeed, secretOf } from "./login.ts";

/** One account that this machine is signed in to. */
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

/** The accounts, by name. Reading needs no lock; whoever changes something holds it from the look to the write. */
export interface AccountStore {
  readonly path: string;
  readonly lock: ProcessLock;
  /** Another one after every change, whoever made it; costs next to nothing. */
  stamp(): string;
  list(): readonly AccountEntry[];
  read(name: string): Promise<Account | undefined>;
  /** Where it was put. */
  write(account: Account): Promise<"file" | "keychain">;
  /** False if there was none. */
  remove(name: string): Promise<boolean>;
}

export interface AccountStoreOptions {
  readonly home: string;
  /** Where secrets go if it can be used; undefined keeps them in the file. */
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
    // What is damaged is no use as the one before.
    writeAccounts(path, accounts, keepsPrevious && !isDamaged);
  };
  // Two homes may have accounts of the same name, and the system has one keychain.
  const entryOf = (name: string) => `${name} ${hash("sha256", home, "hex").slice(0, 16)}`;

  /** The keychain first: if we are stopped in between, the file still leads to the newer login. */
  const keep = async (name: string, login: Login): Promise<"file" | "keychain"> => {
    if (!keychain) return "file";
    try {
      await keychain.write(entryOf(name), JSON.stringify(written(login)));
      return "keychain";
    } catch (error) {
      onNotice(`${ExcursorError.from(error).message} The login is kept in ${path} instead.`);
      return "file";
    }
  };

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
      const kept = await keep(name, login);
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

/** As it is written down, in the file or in the keychain. */
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

const notInFile = (name: string): ExcursorError =>
  new ExcursorError("config", `The login of the account "${name}" is in the keychain, which the settings switch off.`, {
    code: "keychain_off",
    hint: "Set keychain to auto, or sign in again: excursor login",
  });
