import { createHub } from "../../src/mcp/hub.ts";
import type { StdioServer } from "../../src/mcp/servers/server-config.ts";

/**
 * A process with a hub of the given number of servers. It reports its memory and keeps running. The servers are shells
 * with scripted replies, each with a child that ignores TERM, so that the memory is that of the hub.
 */
const LINES = `
trap '' TERM
sleep 1000 &
read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}'
read -r line; read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}'
while :; do wait; done`;

const servers = Array.from({ length: Number(process.argv[2]) }, (_, n): StdioServer => {
  const shared = { origin: "bench", isDisabled: false, protocol: undefined, folder: undefined };
  return { ...shared, type: "stdio", name: `server-${n}`, command: "/bin/sh", args: ["-c", LINES], env: {} };
});
const hub = createHub({ servers, environment: process.env });
await hub.connect();
if (hub.connections.some(({ state }) => state !== "ready")) throw new Error("not every server is there");
for (let round = 0; round < 3; round++) globalThis.gc?.();
process.stdout.write(`${JSON.stringify({ rss: process.memoryUsage.rss() })}\n`);
setInterval(() => {}, 1e6);
