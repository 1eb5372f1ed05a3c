import { KeyRegister } from "../../cluster/redis/keys/key-register.ts";
import type { RedisLink } from "../../cluster/redis/redis-link.ts";
import { fileStamp } from "../../config/file-stamp.ts";
import type { Log } from "../../observe/log.ts";
import { keysPath, mergeKeys, parseKey, readKeyState } from "../../server/gate/keys/gateway-keys.ts";

/** Keeps the issued keys in this home folder equal to those of the other gateways. Waits for theirs. */
export async function shareKeys(link: RedisLink, home: string, log: Log): Promise<KeyRegister> {
  const path = keysPath(home);
  const register = new KeyRegister({
    link,
    file: {
      stamp: () => fileStamp(path),
      read: () => readKeyState(path),
      parse: parseKey,
      merge: (other) => mergeKeys(home, other),
    },
    onProblem: (text) => log.warn({}, `Keys cannot be shared with the cluster. ${text}`),
  });
  await register.sync();
  return register;
}
