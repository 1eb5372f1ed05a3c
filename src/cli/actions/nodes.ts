import { loadConfig } from "../../app/load-config.ts";
import { type GatewayRecord, listGateways } from "../../cluster/gateways.ts";
import { ExcursorError } from "../../core/errors.ts";
import { jsonText } from "../../core/printable.ts";
import { formatTable } from "../terminal/format-table.ts";

interface NodesFlags {
  readonly redis?: string | undefined;
  readonly json: boolean;
}

export async function runNodes({ redis: given, json }: NodesFlags): Promise<void> {
  const { redis } = loadConfig({ flags: { "cluster.redis": given }, environment: process.env }).values.cluster;
  if (!redis) {
    throw new ExcursorError("no_cluster");
  }
  const gateways = await listGateways(redis);
  process.stdout.write(json ? `${jsonText(gateways.map(shown), 2)}\n` : format(gateways));
}

const shown = ({ process: _, ...gateway }: GatewayRecord) => gateway;

function format(gateways: readonly GatewayRecord[]): string {
  if (gateways.length === 0) return "No gateway has joined this cluster. Start one with: excursor serve --redis URL\n";
  const now = Date.now();
  const rows = gateways.map(({ name, isDraining, startedAt, parkedRuns, replays, version }) => [
    name,
    isDraining ? "stopping" : "up",
    `${Math.max(0, Math.round((now - startedAt) / 1000))} s`,
    String(parkedRuns),
    String(replays),
    version,
  ]);
  return formatTable(["NODE", "STATE", "UP FOR", "PARKED", "REPLAYED", "VERSION"], rows);
}
