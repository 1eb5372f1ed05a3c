import { createHmac } from "node:crypto";
import { hostname } from "node:os";
import { type Cluster, openCluster } from "../../cluster/cluster.ts";
import { ExcursorError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import type { Log } from "../../observe/log.ts";
import { isLoopback } from "../../server/gate/public-bind.ts";
import type { Config } from "../load-config.ts";

/** What a gateway brings into its cluster beside the settings. */
export interface ClusterMember {
  /** The gateway's own key. */
  readonly key: Secret;
  readonly version: string;
}

/** Opens the cluster of the settings. Undefined if there is none. */
export async function openConfiguredCluster(
  { cluster, port, limits: { redisMs } }: Config,
  { key, version }: ClusterMember,
  log: Log,
): Promise<Cluster | undefined> {
  const { redis, advertise } = cluster;
  if (!redis) return undefined;
  if (advertise !== undefined && !cluster.secret && !isLoopback(new URL(advertise).hostname)) throw needsSecret();
  return openCluster({
    redis,
    advertise,
    redisMs,
    secret: cluster.secret ?? secretOf(key),
    name: cluster.node ?? defaultName(port),
    version,
    log,
  });
}

/** Returns the password in the URL of Redis, for the redactor. */
export const passwordsIn = (redis: Secret | undefined): readonly string[] =>
  redis && URL.canParse(redis.reveal()) ? [decodeURIComponent(new URL(redis.reveal()).password)] : [];

/** Gateways that share clients share their key. So it needs no other secret on one host. */
const secretOf = (key: Secret): Secret =>
  new Secret(createHmac("sha256", "excursor cluster secret").update(key.reveal()).digest("base64url"));

const defaultName = (port: number): string =>
  `${hostname().replaceAll(/[^\w.-]/g, "-")}-${port === 0 ? `pid${process.pid}` : port}`.slice(-64);

const needsSecret = (): ExcursorError => new ExcursorError("cluster_needs_secret");
