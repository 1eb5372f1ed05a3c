import { Refusal } from "../refusal.ts";
import { type RawHeaders, valuesOf } from "./header-values.ts";

/**
 * The host names of this gateway, compared exactly. Protects against DNS rebinding: a page that points its own name at
 * our address sends that name as Host, and is refused.
 */
export interface HostList {
  /** With a port, or without one. */
  readonly exact: ReadonlySet<string>;
  /** Names that are accepted with any port, since another port may be mapped to ours. */
  readonly withAnyPort: ReadonlySet<string>;
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const PORT = /(?<=[^:]):\d{1,5}$/;

/** Accepts loopback and our own address, with our port or none, and the configured names. */
export function createHostList(host: string, port: number, configured: readonly string[]): HostList {
  const names = [...LOOPBACK_NAMES, host.includes(":") ? `[${host}]` : host, ...configured].map((name) =>
    name.toLowerCase(),
  );
  return {
    exact: new Set(names.flatMap((name) => (PORT.test(name) ? [name] : [name, `${name}:${port}`]))),
    withAnyPort: new Set(configured.map((name) => name.toLowerCase()).filter((name) => !PORT.test(name))),
  };
}

const WELL_FORMED = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

export function checkHost(request: RawHeaders, { exact, withAnyPort }: HostList): void {
  // HTTP/2 sends `:authority` instead of `host`, or both with the same value.
  const authority = valuesOf(request, ":authority");
  const hosts = valuesOf(request, "host").filter((given) => given !== authority[0]);
  const [host, ...others] = [...authority, ...hosts];
  if (host === undefined || others.length > 0 || !WELL_FORMED.test(host)) {
    throw new Refusal(400, "bad_host");
  }
  const given = host.toLowerCase();
  const name = given.replace(PORT, "");
  if (exact.has(given) || withAnyPort.has(name)) return;
  throw new Refusal(421, "unknown_host", [given], {
    hint: exact.has(name)
      ? `Use the port that the gateway listens on. If another port is mapped to it, add ${name} to the setting \`hosts\`, which accepts any port.`
      : `Use 127.0.0.1 or localhost with the right port, or add ${name} to the setting \`hosts\`, which accepts any port.`,
  });
}
