import type { Accounts } from "../../app/accounts/open-accounts.ts";
import { readClaims } from "../../core/access/token-claims.ts";
import type { ExcursorError } from "../../core/errors.ts";
import { printable } from "../../core/printable.ts";
import { askSource, notSignedIn } from "../../credentials/find-login.ts";
import { loadProfile } from "../../credentials/profile.ts";
import { withCredential } from "../../drivers/shared/account-credential.ts";
import { type Check, failed, ok, skip, warn } from "./check.ts";

/** Checks where a login may be, in order of precedence, and whether the first one is accepted. */
export function accountChecks(accounts: Accounts, account: string | undefined): readonly Check[] {
  const { sources, access, origin, transport } = accounts;
  let isFound = false;
  let problem: ExcursorError | undefined;
  const sourceChecks = sources.map(
    (source): Check => ({
      id: `credentials/${source.id}`,
      async look() {
        const report = await askSource(source, Date.now());
        if (report.type === "none") return skip(`No login: ${source.place}.`);
        if (report.type === "problem") {
          problem ??= report.error;
          const { message, hint } = report.error;
          return warn(message, hint ?? "Sign in here: excursor login");
        }
        const isUsed = !isFound;
        isFound = true;
        const name = report.found.account === undefined ? "" : ` the account "${report.found.account}"`;
        return ok(`${isUsed ? "Used" : "Not used"}:${name} ${name === "" ? source.place : `in ${source.place}`}.`);
      },
    }),
  );
  const token: Check = {
    id: "token",
    async look() {
      if (!isFound) return failed(problem ?? notSignedIn());
      const somebody = { id: "doctor", token: undefined, account };
      return withCredential(somebody, access, async (credential) => {
        const { email, plan } = await loadProfile(credential.token, { transport, origin });
        const { expiresAtMs } = readClaims(credential.token.reveal());
        const until = expiresAtMs === undefined ? "" : `, until ${new Date(expiresAtMs).toISOString()}`;
        return ok(printable(`Accepted: ${email}${plan === undefined ? "" : ` (${plan})`}${until}.`));
      });
    },
  };
  return [...sourceChecks, token];
}
