import { loadConfig } from "../../app/load-config.ts";
import { listNodes } from "../../cluster/nodes/list-nodes.ts";
import type { NodeRecord } from "../../cluster/nodes/node-record.ts";
import { ExcursorError } from "../../core/errors.ts";
import { formatTable } from "../terminal/format-table.ts";
import { printable } from "../terminal/printable.ts";

interface NodesFlags {
  readonly redis?: string | undefined;
  readonly json: boolean;
}

/** A difference of clocks that is worth showing. */
const CLOCK_MS = 1000;

export async function runNodes({ redis: given, json }: NodesFlags): Promise<void> {
  const { redis } = loadConfig({ flags: { "cluster.redis": given }, environment: process.env }).values.cluster;
  if (!redis) {
    throw new ExcursorError("no_cluster");
  }
  const { nodes, nowMs } = await listNodes(redis);
  process.stdout.write(json ? `${JSON.stringify(nodes.map(withoutProof), null, 2)}\n` : formatNodes(nodes, nowMs));
}

const withoutProof = ({ proof: _, beats: __, ...node }: NodeRecord) => node;

function formatNodes(nodes: readonly NodeRecord[], nowMs: number): string {
  if (nodes.length === 0) return "No gateway has joined this cluster. Start one with: excursor serve --redis URL\n";
  const rows = nodes.map((node) => [
    node.name,
    node.isDraining ? "stopping" : "up",
    node.advertise,
    `${Math.max(0, Math.round((nowMs - node.joinedAt) / 1000))} s`,
    String(node.parkedRuns),
    String(node.forwarded),
    String(node.served),
    Math.abs(node.clockAheadMs) < CLOCK_MS ? "" : `${(node.clockAheadMs / 1000).toFixed(1)} s ahead`,
    node.version,
  ]);
  return formatTable(
    ["NODE", "STATE", "ADDRESS", "UP FOR", "PARKED", "FORWARDED", "SERVED", "CLOCK", "VERSION"],
    rows.map((row) => row.map(printable)),
  );
}
