import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OwnNode, openOwnCluster } from "./own-cluster.ts";

const SERVER = fileURLToPath(new URL("../../mcp/support/scripted-server.ts", import.meta.url));

/** Opens gateways that share a Redis. The hub of each has a server of its own, which is called `srv`. */
export async function openHubCluster(defer: (cleanup: () => unknown) => void) {
  const cluster = await openOwnCluster(defer, {}, { EXCURSOR_TOOLS: "hub" });
  const mcpServers = { srv: { command: process.execPath, args: [SERVER] } };
  const open = (name: string): Promise<OwnNode> => {
    const home = mkdtempSync(join(tmpdir(), "excursor-hub-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
    return cluster.open(name, { EXCURSOR_HOME: home });
  };
  return { ...cluster, open };
}

/** Counts the calls of hub tools that a gateway has begun. */
export const hubCallsOf = ({ log }: OwnNode): number =>
  log()
    .split("\n")
    .filter((line) => line.includes('"hub tool call"') && line.includes('"event":"started"')).length;
