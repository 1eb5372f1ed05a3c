import { hash } from "node:crypto";
import { ExcursorError } from "../core/errors.ts";

/** The keychain of the operating system. Rejects if there is none, or if it is locked. */
export interface Keychain {
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

const SERVICE = "excursor";

/** Long, because a locked keychain may ask the user. */
const PATIENCE_MS = 60_000;

export function createKeychain(): Keychain {
  const use = async <T>(name: string, act: (entry: Entry, signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      const { AsyncEntry } = await import("@napi-rs/keyring");
      // The default on Linux may be the kernel's keyring, which loses everything when the machine restarts.
      const entry = new AsyncEntry(SERVICE, name, { linux: { store: "secret-service" } });
      return await act(entry, AbortSignal.timeout(PATIENCE_MS));
    } catch (error) {
      throw unusable(error);
    }
  };
  return {
    read: (name) => use(name, async (entry, signal) => (await entry.getPassword(signal)) ?? undefined),
    write: (name, text) => use(name, (entry, signal) => entry.setPassword(text, signal)),
    remove: (name) => use(name, async (entry, signal) => void (await entry.deletePassword(signal))),
  };
}

interface Entry {
  getPassword(signal: AbortSignal): Promise<string | null | undefined>;
  setPassword(text: string, signal: AbortSignal): Promise<void>;
  deletePassword(signal: AbortSignal): Promise<boolean>;
}

/** Returns the name of an entry. Two homes may use the same names, but the system has only one keychain. */
export const keychainEntry = (home: string, name: string): string =>
  `${name} ${hash("sha256", home, "hex").slice(0, 16)}`;

/** Writes an entry. Returns false if there is no keychain, or if it fails, which is reported. */
export async function tryKeychain(
  keychain: Keychain | undefined,
  entry: string,
  text: string,
  onFailure: (message: string) => void,
): Promise<boolean> {
  try {
    await keychain?.write(entry, text);
    return keychain !== undefined;
  } catch (error) {
    onFailure(ExcursorError.from(error).message);
    return false;
  }
}

const unusable = (cause: unknown): ExcursorError =>
  new ExcursorError("keychain_unusable", "The system keychain is locked or missing.", { cause });
