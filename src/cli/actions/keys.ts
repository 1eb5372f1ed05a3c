import { openAccounts } from "../../app/accounts/open-accounts.ts";
import { loadConfig } from "../../app/load-config.ts";
import { checkDollarLimits } from "../../app/usage/check-dollar-limits.ts";
import { ACCOUNT_NAME } from "../../config/settings.ts";
import { ExcursorError } from "../../core/errors.ts";
import { limitFault } from "../../core/limits/limit.ts";
import { unknownAccount } from "../../credentials/sources/store.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import { addKey, type GatewayKey, keysPath, readKeys, revokeKey } from "../../server/gate/keys/gateway-keys.ts";
import { formatTable } from "../terminal/format-table.ts";

interface AddFlags {
  readonly account?: string | undefined;
  readonly streams?: number | undefined;
  readonly limit?: readonly string[] | undefined;
  readonly onLimit: "end" | "pause";
}

export async function runAddKey(name: string, { account, limit = [], ...flags }: AddFlags): Promise<void> {
  if (!ACCOUNT_NAME.test(name)) {
    throw new ExcursorError("invalid-request", "The name of a key must have 1 to 64 letters, digits and . _ @ -.");
  }
  if (name === OWNER.id) {
    throw new ExcursorError("invalid-request", `${name} is the name of the gateway's own key.`, { hint: null });
  }
  if (Object.values(flags).includes(0)) {
    throw new ExcursorError("invalid-request", "A limit must be at least 1.");
  }
  for (const text of limit) {
    const fault = limitFault(text);
    if (fault === undefined) continue;
    throw new ExcursorError("invalid-request", `--limit ${JSON.stringify(text)}: ${fault}.`, { hint: null });
  }
  const loaded = loadConfig({ flags: {}, environment: process.env });
  if (account !== undefined) checkAccount(loaded, account);
  const { streams, onLimit } = flags;
  checkDollarLimits({ config: loaded.values, limits: limit, isOwners: false });
  const key = await addKey(loaded.home, name, {
    account,
    limits: { usage: [...limit], ...(streams !== undefined && { streams }), ...(onLimit === "pause" && { onLimit }) },
  });
  process.stderr.write(`The key is not shown again. To revoke it: excursor keys revoke ${name}\n`);
  process.stdout.write(`${key.reveal()}\n`);
}

export function runListKeys(isJson: boolean): void {
  const { home } = loadConfig({ flags: {}, environment: process.env });
  const keys = readKeys(keysPath(home));
  if (isJson) {
    process.stdout.write(
      `${JSON.stringify(
        keys.map(({ digest: _, ...shown }) => shown),
        null,
        2,
      )}\n`,
    );
    return;
  }
  if (keys.length === 0) process.stderr.write("There are no keys. Create one: excursor keys add NAME\n");
  else process.stdout.write(formatTable(["NAME", "ACCOUNT", "STREAMS", "LIMITS", "ON LIMIT", "SINCE"], keys.map(row)));
}

export async function runRevokeKey(name: string): Promise<void> {
  const { home } = loadConfig({ flags: {}, environment: process.env });
  await revokeKey(home, name);
  process.stdout.write(`Revoked: ${name}.\n`);
}

const row = ({ name, account, limits, createdAt }: GatewayKey): readonly string[] => [
  name,
  account ?? "the gateway's",
  String(limits.streams ?? "-"),
  limits.usage.join(", ") || "-",
  limits.onLimit ?? "end",
  createdAt.slice(0, 10),
];

/** Throws if the account does not exist. Otherwise only the user of the key would find out. */
function checkAccount(loaded: Parameters<typeof openAccounts>[0], account: string): void {
  const { store, close } = openAccounts(loaded, { onSecret: () => {}, onNotice: () => {} });
  const names = store.list().map(({ name }) => name);
  close();
  if (!names.includes(account)) throw unknownAccount(account, names);
}
