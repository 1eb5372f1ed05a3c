import type { AccessTokens } from "../../core/access/access.ts";
import type { Principal } from "../../core/turn.ts";
import type { SignedInAccounts } from "../../faces/cursor/index.ts";
import { DashboardService } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import { callHeaders } from "../../wire/agent/headers.ts";
import { callUnary } from "../../wire/connect/unary.ts";
import type { HttpTransport } from "../../wire/http/http.ts";

export interface OwnAccountsOptions {
  readonly access: AccessTokens;
  /** The names of the accounts that are signed in to this backend, beside the gateway's own. */
  readonly names: () => readonly string[];
  readonly origin: string;
  readonly transport: HttpTransport;
  readonly now?: () => number;
}

/** How long the backend's word on an account holds. */
const KNOWN_MS = 10 * 60_000;

/**
 * Finds the account of a Cursor user among those that are signed in here. The user of the gateway's own account is the
 * gateway's owner; users of the others are callers of their own.
 */
export function createOwnAccounts({
  access,
  names,
  origin,
  transport,
  now = Date.now,
}: OwnAccountsOptions): SignedInAccounts {
  const known = new Map<string, { readonly userId: number; readonly until: number }>();

  const userIdOf = async (name: string | undefined, signal: AbortSignal): Promise<number | undefined> => {
    try {
      const { account, token } = await access.get(name);
      const kept = known.get(account);
      if (kept && kept.until > now()) return kept.userId;
      const headers = callHeaders("unary-proto", { token: token.reveal() });
      const { userId } = await callUnary({
        transport,
        origin,
        headers,
        signal,
        method: DashboardService.method.getMe,
        input: {},
      });
      known.set(account, { userId, until: now() + KNOWN_MS });
      return userId;
    } catch {
      // An account whose user id cannot be confirmed grants no access.
      return undefined;
    }
  };

  return {
    async principalOf(cursorUserId, signal) {
      if ((await userIdOf(undefined, signal)) === cursorUserId) return OWNER;
      for (const name of names()) {
        if ((await userIdOf(name, signal)) === cursorUserId) return accountPrincipal(name);
      }
      return undefined;
    },
  };
}

const accountPrincipal = (account: string): Principal => ({ id: `account_${account}`, token: undefined, account });
