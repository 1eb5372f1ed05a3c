import { resolve } from "node:path";
import { loadConfig } from "../../app/load-config.ts";
import { proxySecrets } from "../../wire/http/proxy.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface ServiceEnvironment {
  /** What the file of the service sets. */
  readonly variables: Readonly<Record<string, string>>;
  /** Names of variables that hold secrets. The file of a service is no place for them. */
  readonly withheld: readonly string[];
}

/** What the gateway reads besides its settings. PATH finds agents and MCP servers. */
const ALSO_READ =
  /^(?:PATH|XDG_CONFIG_HOME|NODE_EXTRA_CA_CERTS|OTEL_[A-Z_]+|HTTPS_PROXY|https_proxy|NO_PROXY|no_proxy)$/;

/**
 * Returns the variables of the shell that the gateway reads. A manager starts services without them: the service would
 * listen on another port than `excursor serve`, for example. Throws if a setting is wrong.
 */
export function serviceEnvironment(environment: Environment): ServiceEnvironment {
  const { home, settings } = loadConfig({ flags: {}, environment });
  const secrets = settings.filter(({ setting }) => setting.isSecret).map(({ variable }) => variable);
  const isRead = (name: string) => ALSO_READ.test(name) || settings.some(({ variable }) => variable === name);
  const isSecret = (name: string) =>
    secrets.includes(name) ||
    /^OTEL_.*HEADERS$/.test(name) ||
    (/^https_proxy$/i.test(name) && proxySecrets({ HTTPS_PROXY: environment[name] }).length > 0);
  const names = Object.keys(environment).filter((name) => environment[name] && isRead(name));
  const passed = names.filter((name) => !isSecret(name)).sort();
  return {
    variables: {
      EXCURSOR_HOME: resolve(home),
      ...Object.fromEntries(passed.map((name) => [name, environment[name] ?? ""])),
    },
    withheld: names.filter(isSecret).sort(),
  };
}
