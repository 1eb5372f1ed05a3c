import { secretsAmong } from "../core/environment-secrets.ts";
import type { Secret } from "../core/secret.ts";
import type { ServerConfig } from "../mcp/server-config.ts";

/** Short ones are words, and would be struck out of every line. */
const MIN_SECRET_CHARS = 8;

/** What of a server's entry must not show in any text. */
export const secretsIn = (server: ServerConfig): readonly Secret[] =>
  (server.type === "stdio"
    ? secretsAmong(server.env)
    : [...Object.values(server.headers), server.oauth?.clientSecret, server.oauth?.privateKey]
  ).filter((secret) => secret !== undefined && secret.reveal().length >= MIN_SECRET_CHARS) as readonly Secret[];
