import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { ServerConnection } from "../../../src/mcp/connection/server-connection.ts";
import { HUB_LIMITS, type HubLimits } from "../../../src/mcp/limits.ts";
import type { HttpServer, ServerConfig, StdioServer } from "../../../src/mcp/servers/server-config.ts";
import { createWatchdog } from "../../../src/process/watchdog.ts";

const SCRIPT = fileURLToPath(new URL("scripted-server.ts", import.meta.url));

/** The server that misbehaves on request. */
export const scripted = (options: object = {}, over: Partial<StdioServer> = {}): StdioServer => ({
  type: "stdio",
  name: "scripted",
  origin: "mcp.json",
  isDisabled: false,
  protocol: undefined,
  command: process.execPath,
  args: [SCRIPT, JSON.stringify(options)],
  env: {},
  folder: undefined,
  ...over,
});

export const remote = (url: string, over: Partial<HttpServer> = {}): HttpServer => ({
  type: "http",
  name: "remote",
  origin: "mcp.json",
  isDisabled: false,
  protocol: undefined,
  url: new URL(url),
  headers: { authorization: new Secret("Bearer x") },
  oauth: undefined,
  isFixed: false,
  ...over,
});

/** A connection that ends with the test, and what it was told. */
export function connectionTo(server: ServerConfig, limits: Partial<HubLimits> = {}) {
  const troubles: string[] = [];
  const notes: string[] = [];
  let lists = 0;
  const connection = new ServerConnection({
    server,
    environment: { ...process.env, EXCURSOR_TOKEN: "canary-of-ours" },
    watchdog: createWatchdog(),
    limits: { ...HUB_LIMITS, backOffMs: 1, ...limits },
    onTools: () => {
      lists++;
    },
    onTrouble: (error) => troubles.push(error.message),
    onNote: (text) => notes.push(text),
  });
  onTestFinished(() => connection.close());
  return { connection, troubles, notes, lists: () => lists };
}

export const context = { signal: new AbortController().signal };

export const textOf = ({ content }: { content?: readonly object[] }): string =>
  (content ?? []).map((part) => ("text" in part ? String(part.text) : "")).join("");
