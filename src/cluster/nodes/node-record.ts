import { z } from "zod";
import type { ClusterKeys } from "../internal/cluster-keys.ts";

const RECORD = z.object({
  name: z.string().min(1).max(64),
  tag: z.string().regex(/^[\w-]{4}$/),
  advertise: z.string().max(512),
  version: z.string().max(64),
  /** When the process joined, in ms since the epoch, by the clock of Redis. */
  joinedAt: z.number(),
  /** The number of the heartbeat. */
  beats: z.number(),
  isDraining: z.boolean(),
  /** How far the machine's clock is ahead of that of Redis, in ms. */
  clockAheadMs: z.number(),
  parkedRuns: z.number(),
  /** Turns and messages of runs that this gateway has forwarded to others, and taken from others, since its start. */
  forwarded: z.number(),
  served: z.number(),
  proof: z.string().max(64),
});

/** What a gateway tells the others of itself with each heartbeat. */
export type NodeRecord = Readonly<z.infer<typeof RECORD>>;

/** Returns the record with the proof that it comes from a gateway with the cluster's secret. */
export const proveRecord = (keys: ClusterKeys, record: Omit<NodeRecord, "proof">): NodeRecord => ({
  ...record,
  proof: keys.prove("node", record.name, record.tag, record.advertise),
});

export const isProvenRecord = (keys: ClusterKeys, { proof, name, tag, advertise }: NodeRecord): boolean =>
  keys.isProof(proof, "node", name, tag, advertise);

/** Parses a record of Redis. Undefined if it is none. */
export function parseRecord(json: string): NodeRecord | undefined {
  try {
    return RECORD.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}
