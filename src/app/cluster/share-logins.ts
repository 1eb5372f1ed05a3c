import type { Cluster } from "../../cluster/cluster.ts";
import { SharedLogins } from "../../cluster/redis/logins/shared-logins.ts";
import { Packing } from "../../cluster/redis/packing.ts";
import type { AccountStore } from "../../credentials/account-store.ts";
import type { Log } from "../../observe/log.ts";
import type { Config } from "../load-config.ts";

/** Returns the store of logins that all gateways of a cluster share. Undefined if logins stay where they are. */
export function shareLogins(
  cluster: Cluster | undefined,
  { cluster: { loginKey } }: Config,
  local: AccountStore,
  log: Log,
): SharedLogins | undefined {
  if (!cluster || !loginKey) return undefined;
  return new SharedLogins({
    link: cluster.link,
    packing: new Packing(loginKey, "logins"),
    local,
    onProblem: (text) => log.warn({}, `Logins cannot be shared with the cluster. ${text}`),
  });
}
