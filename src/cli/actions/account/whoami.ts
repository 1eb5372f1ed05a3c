import { styleText } from "node:util";
import { openAccounts } from "../../../app/accounts/open-accounts.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { readClaims } from "../../../core/access/token-claims.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { loadProfile, type Quota } from "../../../credentials/profile.ts";
import { withCredential } from "../../../drivers/shared/account-credential.ts";

interface WhoamiFlags {
  readonly account?: string | undefined;
  readonly upstream?: string | undefined;
  readonly json: boolean;
}

export async function runWhoami({ json, ...flags }: WhoamiFlags): Promise<void> {
  const loaded = loadConfig({ flags, environment: process.env });
  const { clientVersion, account } = loaded.values;
  const notices = new Set<string>();
  const accounts = openAccounts(loaded, { onSecret: () => {}, onNotice: (text) => notices.add(text) });
  const { origin, access, store, transport } = accounts;
  try {
    const somebody = { id: "whoami", token: undefined, account };
    const known = await withCredential(somebody, access, async ({ token }) => {
      const profile = await loadProfile(token, { transport, origin, clientVersion });
      return { profile, expiresAtMs: readClaims(token.reveal()).expiresAtMs };
    });
    const signedIn = store.list().map(({ name }) => name);
    const { profile, expiresAtMs } = known;
    process.stdout.write(
      json
        ? `${jsonText({ ...profile, expiresAtMs, backend: origin, accounts: signedIn }, 2)}\n`
        : lines([
            ["email", printable(profile.email)],
            ["plan", printable(profile.plan ?? "unknown")],
            ["privacy", profile.privacy ?? "unknown, treated as on"],
            ["token", expiresAtMs === undefined ? "unknown expiry" : lasts(expiresAtMs - Date.now())],
            ["quota", profile.quota ? bar(profile.quota) : "unknown"],
            ...(profile.quota ? partsOf(profile.quota) : []),
            ["accounts", signedIn.join(", ") || "none stored"],
          ]),
    );
  } catch (error) {
    // The final error is reported separately, with a hint.
    notices.delete(ExcursorError.from(error).message);
    throw error;
  } finally {
    for (const notice of notices) process.stderr.write(`${printable(notice)}\n`);
    accounts.close();
  }
}

const lines = (rows: readonly (readonly [string, string])[]): string =>
  rows.map(([name, value]) => `${styleText("bold", name.padEnd(10), { stream: process.stdout })}${value}\n`).join("");

const WIDTH = 20;

/** Percentages are shown as Cursor gives them: bonus usage makes them differ from spend by limit. */
function bar({ limit, remaining, percentUsed, resetsAtMs }: Quota): string {
  const left = `${money(remaining)} of ${money(limit)} left until ${new Date(resetsAtMs).toISOString().slice(0, 10)}`;
  if (percentUsed === undefined) return left;
  const share = Math.min(Math.max(percentUsed, 0), 100) / 100;
  const full = Math.round(share * WIDTH);
  const colour = share > 0.9 ? "red" : share > 0.7 ? "yellow" : "green";
  const picture = styleText(colour, "█".repeat(full), { stream: process.stdout }) + "░".repeat(WIDTH - full);
  return `${picture} ${percent(percentUsed)} used, ${left}`;
}

function* partsOf({ autoPercentUsed, apiPercentUsed, isInSlowPool }: Quota): Generator<readonly [string, string]> {
  const parts = [
    ...(autoPercentUsed === undefined ? [] : [`${percent(autoPercentUsed)} by auto`]),
    ...(apiPercentUsed === undefined ? [] : [`${percent(apiPercentUsed)} by models of your choice`]),
  ];
  if (parts.length > 0) yield ["", parts.join(", ")];
  if (isInSlowPool) yield ["speed", "slow until the plan resets: it is used up"];
}

const money = (cents: number): string => `$${(cents / 100).toFixed(2)}`;

const percent = (value: number): string => `${Number(value.toFixed(2))} %`;

function lasts(ms: number): string {
  if (ms <= 0) return "has expired";
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 2) return `valid for ${Math.ceil(ms / 1000)} more seconds`;
  if (minutes < 120) return `valid for ${minutes} more minutes`;
  return minutes < 2880
    ? `valid for ${Math.floor(minutes / 60)} more hours`
    : `valid for ${Math.floor(minutes / 1440)} more days`;
}
