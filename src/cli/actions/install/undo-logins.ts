import { ExcursorError } from "../../../core/errors.ts";
import { type AccountStore, createAccountStore } from "../../../credentials/account-store.ts";
import { createKeychain, type Keychain } from "../../../credentials/keychain.ts";
import { createServerLogins, type ServerLogins } from "../../../credentials/server-logins.ts";
import { signOutOfServer } from "../mcp/sign-out-of-server.ts";
import type { UndoStep } from "./undo-step.ts";

/**
 * Signs out the accounts, and of MCP servers. Their logins may be in the system's keychain, also if the settings have turned
 * it off since. Files that cannot be read are left to their deletion.
 */
export function undoLogins(home: string, keychain: Keychain = createKeychain()): readonly UndoStep[] {
  const options = { home, keychain, onNotice: () => {} };
  const accounts = createAccountStore(options);
  const servers = createServerLogins(options);
  return [
    ...readable(() => accounts.list().map(({ name }) => name)).map((name) => undoAccount(accounts, name)),
    ...readable(() => servers.names()).map((name) => undoServer(servers, name)),
  ];
}

const undoAccount = (accounts: AccountStore, name: string): UndoStep => ({
  type: "login",
  name,
  text: `sign out the account ${name}`,
  undo: async () => void (await accounts.lock.run(() => accounts.remove(name))),
});

const undoServer = (servers: ServerLogins, name: string): UndoStep => ({
  type: "mcp-login",
  name,
  text: `sign out of the MCP server ${name}`,
  async undo() {
    try {
      await signOutOfServer(servers, name);
    } catch (error) {
      if (ExcursorError.from(error).code === "keychain_unusable") throw error;
      // The list of servers cannot be read, so none can be told.
      await servers.lock.run(() => servers.remove(name));
    }
  },
});

function readable(list: () => readonly string[]): readonly string[] {
  try {
    return list();
  } catch {
    return [];
  }
}
