import { homedir } from "node:os";
import { join } from "node:path";
import { isSecretValue } from "../core/access/environment-secrets.ts";
import { Secret } from "../core/secret.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { findServers } from "../mcp/servers/server-files.ts";
import { readExporterSettings } from "../traces/exporter-settings.ts";
import { proxySecrets } from "../wire/http/proxy.ts";
import { secretsIn } from "./hub/server-secrets.ts";
import type { LoadedConfig } from "./load-config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const KEY_FILES = ["key", "bridge-key", "path-secret"] as const;
const MAX_KEY_BYTES = 4096;
const SECRET_FLAG = /^--(?:key|token|api-key|cookie|seed)(?:=(.*))?$/s;
/** Members of settings that name variables. */
const NAMES_VARIABLES = /^(?:keyVariable|passEnv)$/;

/**
 * Returns every secret that was configured: in flags, variables, settings, key files and MCP servers. Logins are apart.
 * Without settings, because these are the trouble, the first two.
 */
export function secretsOf(loaded: Pick<LoadedConfig, "values" | "home"> | undefined): readonly string[] {
  const { argv, env } = process;
  const given = givenSecrets(argv, env);
  if (!loaded) return given.flatMap(withParts);
  const { values, home } = loaded;
  const kept = KEY_FILES.map((name) => keyIn(join(home, name)));
  return [...given, ...kept, ...valuesIn("", values, env), ...serverSecrets(home, env)].flatMap(withParts);
}

/** A file that cannot be read holds no secret that could be shown, and may be what an error is about. */
function keyIn(path: string): string {
  try {
    return readSmallFile(path, MAX_KEY_BYTES)?.trim() ?? "";
  } catch {
    return "";
  }
}

/** What is masked only where a capture is shown or given away: it names a person. */
export const ownFolders = (home: string): readonly string[] => [homedir(), home];

/** Of flags and variables, used or not. */
function givenSecrets(argv: readonly string[], env: Environment): readonly string[] {
  const flags = argv.flatMap((argument, index) => {
    const flag = SECRET_FLAG.exec(argument);
    return flag ? [flag[1] ?? argv[index + 1] ?? ""] : [];
  });
  const variables = Object.entries(env).flatMap(([name, value = ""]) => (isSecretValue(name, value) ? [value] : []));
  const { headers = {} } = readExporterSettings(env, () => {}) ?? {};
  return [...flags, ...variables, ...proxySecrets(env), ...Object.values(headers).map((secret) => secret.reveal())];
}

function valuesIn(name: string, value: unknown, env: Environment): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value === "string") {
    if (NAMES_VARIABLES.test(name)) return [env[value] ?? ""];
    return isSecretValue(name, value) ? [value] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([own, inner]) => valuesIn(Array.isArray(value) ? name : own, inner, env));
}

function serverSecrets(home: string, environment: Environment): readonly string[] {
  try {
    const places = { home, project: process.cwd(), userHome: homedir(), environment };
    return findServers(places).servers.flatMap((server) => secretsIn(server).map((secret) => secret.reveal()));
  } catch {
    // A file that cannot be read is reported by who uses it.
    return [];
  }
}

/** A header's secret without its scheme, and an address's password. */
function withParts(secret: string): readonly string[] {
  const password = URL.canParse(secret) ? new URL(secret).password : "";
  return [secret, secret.slice(secret.lastIndexOf(" ") + 1), password, decode(password)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
