import { ClusterKeys } from "../../../src/cluster/internal/cluster-keys.ts";
import { InternalClient } from "../../../src/cluster/internal/internal-client.ts";
import { type InternalHandler, listenInternally } from "../../../src/cluster/internal/internal-listener.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";

const keys = new ClusterKeys(new Secret("the secret of the cluster, long enough"));
const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

/** The tag of the home node. */
export const TAG = "tag1";

/** Opens the listener of a home node that answers turns like this, and a client to it. */
export async function openInternalHome(turn: InternalHandler, defer: (cleanup: () => unknown) => void) {
  const now = () => 0;
  const listener = await listenInternally({ host: "127.0.0.1", port: 0, keys, tag: TAG, now, log, handlers: { turn } });
  const client = new InternalClient(keys, now);
  defer(() => listener.close());
  defer(() => client.close());
  return { client, home: { tag: TAG, advertise: `http://127.0.0.1:${listener.port}` } };
}
