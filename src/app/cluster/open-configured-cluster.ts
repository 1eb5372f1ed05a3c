import { hostname } from "node:os";
import { type Cluster, openCluster } from "../../cluster/cluster.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Log } from "../../observe/log.ts";
import { isLoopback } from "../../server/gate/public-bind.ts";
import type { Config } from "../load-config.ts";
import { answerWaiting } from "./answer-waiting.ts";

/** Opens the cluster of the settings. Undefined if there is none. While Redis is waited for, `/readyz` says so. */
export async function openConfiguredCluster(config: Config, version: string, log: Log): Promise<Cluster | undefined> {
  const { redis, node, trustedNetwork } = config.cluster;
  if (!redis) return undefined;
  checkRedis(redis, trustedNetwork);
  let stop: (() => Promise<void>) | undefined;
  try {
    return await openCluster({
      redis,
      redisMs: config.limits.redisMs,
      name: node ?? defaultName(config.port),
      version,
      log,
      onWait() {
        log.warn({}, "cluster.redis: Redis cannot be used yet. The gateway waits for it.");
        stop = answerWaiting(config);
      },
    });
  } finally {
    await stop?.();
  }
}

const defaultName = (port: number): string =>
  `${hostname().replaceAll(/[^\w.-]/g, "-")}-${port === 0 ? `pid${process.pid}` : port}`.slice(-64);

/** Redis is trusted like the disk, so nobody else on the network may read or write it. */
function checkRedis(redis: Secret, isTrusted: boolean | undefined): void {
  const { hostname: host, protocol, password } = new URL(redis.reveal());
  if (isTrusted || isLoopback(host.replace(/^\[|\]$/g, "")) || (protocol === "rediss:" && password !== "")) return;
  const missing = [password === "" ? "a password" : "", protocol === "rediss:" ? "" : "TLS (rediss://)"];
  throw new ExcursorError("redis_not_protected", [missing.filter(Boolean).join(" and ")]);
}
