import { openAccounts } from "../../../app/accounts/open-accounts.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { printable } from "../../../core/printable.ts";
import { DEFAULT_ACCOUNT } from "../../../credentials/account-store.ts";
import { notSignedIn } from "../../../credentials/find-login.ts";
import { unknownAccount } from "../../../credentials/sources/store.ts";

/** Removes stored logins. A running gateway notices it at its next request. */
export async function runLogout({ account, all }: { account?: string | undefined; all: boolean }): Promise<void> {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  const { store, close } = openAccounts(loaded, {
    onSecret: () => {},
    onNotice: (text) => process.stderr.write(`${printable(text)}\n`),
  });
  try {
    const removed = await store.lock.run(async () => {
      const names = store.list().map(({ name }) => name);
      const chosen = all ? names : [choose(names, account ?? loaded.values.account)];
      for (const name of chosen) await store.remove(name);
      return chosen;
    });
    if (removed.length === 0) throw notSignedIn();
    process.stdout.write(`Signed out: ${removed.join(", ")}.\n`);
  } finally {
    close();
  }
}

function choose(names: readonly string[], wanted: string | undefined): string {
  if (names.length === 0) throw notSignedIn();
  const [only, ...others] = names;
  const name = wanted ?? (names.includes(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : others.length === 0 ? only : undefined);
  if (name === undefined) {
    throw new ExcursorError("which_account", [names.join(", ")], {
      hint: "Choose one with --account, or use --all.",
    });
  }
  if (!names.includes(name)) throw unknownAccount(name, names);
  return name;
}
