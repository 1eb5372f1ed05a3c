import type { Secret } from "../../core/secret.ts";
import { askPatiently } from "../redis/ask-patiently.ts";
import { openRedisLink } from "../redis/redis-link.ts";
import { beat } from "./beat.ts";
import type { NodeRecord } from "./node-record.ts";

const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Reads the gateways of a cluster, without being one of them. They are not proven. */
export async function listNodes(redis: Secret): Promise<{ nodes: readonly NodeRecord[]; nowMs: number }> {
  const link = await openRedisLink({ url: redis, log: SILENT });
  try {
    const reply = await askPatiently(link, (client) => beat(client, link));
    if (reply.type === "taken") return { nodes: [], nowMs: 0 };
    return { nodes: (reply.nodes ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)), nowMs: reply.redisMs };
  } finally {
    link.close();
  }
}
