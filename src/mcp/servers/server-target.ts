import type { ServerConfig } from "./server-config.ts";

/** Returns what is run or called, without possible secrets. */
export const targetOf = (server: ServerConfig): string =>
  server.type === "stdio" ? [server.command, ...server.args].join(" ") : server.url.origin + server.url.pathname;
