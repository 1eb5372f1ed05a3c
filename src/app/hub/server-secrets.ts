import { secretsAmong } from "../../core/access/environment-secrets.ts";
import type { Secret } from "../../core/secret.ts";
import type { ServerConfig } from "../../mcp/servers/server-config.ts";

/** Shorter values are ordinary words; redacting them would garble the logs. */
const MIN_SECRET_CHARS = 8;

export const secretsIn = (server: ServerConfig): readonly Secret[] =>
  (server.type === "stdio"
    ? secretsAmong(server.env)
    : [...Object.values(server.headers), server.oauth?.clientSecret, server.oauth?.privateKey]
  ).filter((secret) => secret !== undefined && secret.reveal().length >= MIN_SECRET_CHARS) as readonly Secret[];
