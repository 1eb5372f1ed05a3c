import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { onTestFinished } from "vitest";
import { CLIENTS_FOLDER } from "../../../scripts/install-clients.ts";
import type { ServerConfig } from "../../../src/mcp/servers/server-config.ts";
import { remote, scripted } from "../../mcp/support/stage.ts";

export const program = (name: string): string =>
  `${CLIENTS_FOLDER}/node_modules/@modelcontextprotocol/${name}/dist/index.js`;

export type TransportName = "stdio" | "http" | "sse";

export interface EverythingServer {
  readonly config: ServerConfig;
  /** Kills it as a crash would, and starts it anew in the same place, where that is ours to do. */
  restart(): Promise<void>;
}

/** `server-everything` over one of its three transports. */
export async function startEverything(transport: TransportName): Promise<EverythingServer> {
  if (transport === "stdio") {
    const config = scripted({}, { name: "everything", args: [program("server-everything")] });
    return { config, restart: async () => {} };
  }
  const port = await freePort();
  let child = await start(transport, port);
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    // The address alone: which of the two transports it is has to be found out.
    config: remote(`http://127.0.0.1:${port}/${transport === "http" ? "mcp" : "sse"}`, {
      name: "everything",
      headers: {},
    }),
    async restart() {
      child.kill("SIGKILL");
      await once(child, "exit");
      child = await start(transport, port);
    },
  };
}

async function start(transport: TransportName, port: number): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [program("server-everything"), transport === "http" ? "streamableHttp" : "sse"],
    {
      env: { PATH: process.env["PATH"], PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const said = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        if (text.includes(String(port))) resolve();
      });
    }
  });
  await Promise.race([
    said,
    once(child, "exit").then(([code]) => {
      throw new Error(`server-everything ended with code ${code}`);
    }),
  ]);
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}
