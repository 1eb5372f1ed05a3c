import { readClaims } from "../../core/access/token-claims.ts";
import { loadProfile } from "../../credentials/profile.ts";
import type { AccountReply } from "../../dashboard/messages.ts";
import { withCredential } from "../../drivers/shared/account-credential.ts";
import type { Config } from "../load-config.ts";
import type { OpenEngine } from "../open-gateway.ts";

/** Asks the backend about the gateway's own account. Throws if none is signed in, or if its login is refused. */
export function reportAccount({ accounts }: OpenEngine, { clientVersion, account }: Config): Promise<AccountReply> {
  const { origin, access, transport, names } = accounts;
  return withCredential({ id: "dashboard", token: undefined, account }, access, async ({ token }) => {
    const { email, plan, privacy, quota } = await loadProfile(token, { transport, origin, clientVersion });
    return {
      email,
      plan: plan ?? null,
      privacy: privacy ?? null,
      backend: origin,
      expiresAt: readClaims(token.reveal()).expiresAtMs ?? null,
      quota: quota
        ? { used: quota.used, limit: quota.limit, percentUsed: quota.percentUsed ?? null, resetsAt: quota.resetsAtMs }
        : null,
      accounts: names(),
    };
  });
}
