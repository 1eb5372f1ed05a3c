import { ExcursorError } from "../../../src/core/errors.ts";
import type { Keychain } from "../../../src/credentials/keychain.ts";

/** A safe that can be locked. */
export function aKeychain() {
  const entries = new Map<string, string>();
  const state = { isLocked: false };
  const use = async <T>(act: () => T): Promise<T> => {
    if (state.isLocked) throw new ExcursorError("forbidden", "The keychain is locked.");
    return act();
  };
  const keychain: Keychain = {
    read: (name) => use(() => entries.get(name)),
    write: (name, text) => use(() => void entries.set(name, text)),
    remove: (name) => use(() => void entries.delete(name)),
  };
  return { keychain, entries, state };
}
