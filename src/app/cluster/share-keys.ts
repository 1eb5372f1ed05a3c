import type { Cluster } from "../../cluster/cluster.ts";
import { SharedKeys } from "../../cluster/redis/keys/shared-keys.ts";
import { fileStamp } from "../../config/file-stamp.ts";
import type { Log } from "../../observe/log.ts";
import { keysPath, mergeKeys, parseKey, readKeyState } from "../../server/gate/keys/gateway-keys.ts";

/** Keeps the issued keys in this home folder equal to those of the other gateways. Waits for theirs. */
export async function shareKeys(
  { link, packing }: Pick<Cluster, "link" | "packing">,
  home: string,
  log: Log,
): Promise<SharedKeys> {
  const path = keysPath(home);
  const keys = new SharedKeys({
    link,
    packing: packing("keys"),
    file: {
      stamp: () => fileStamp(path),
      read: () => readKeyState(path),
      parse: parseKey,
      merge: (other) => mergeKeys(home, other),
    },
    onProblem: (text) => log.warn({}, `Keys cannot be shared with the cluster. ${text}`),
  });
  await keys.sync();
  return keys;
}
