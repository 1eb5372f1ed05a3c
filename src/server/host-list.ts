import type { IncomingMessage } from "node:http";
import { valuesOf } from "./header-values.ts";
import { Refusal } from "./refusal.ts";

/**
 * The names by which this gateway may be reached, exact. A page that points its own name at our address sends that
 * name as Host, and is turned away by it (DNS rebinding).
 */
export type HostList = ReadonlySet<string>;

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/** Loopback, the address we listen on, and what is configured: each alone and with our port. */
export function createHostList(host: string, port: number, configured: readonly string[]): HostList {
  const names = [...LOOPBACK_NAMES, host.includes(":") ? `[${host}]` : host, ...configured];
  const hasPort = (name: string) => /[^\]:]:\d+$|\]:\d+$/.test(name);
  return new Set(
    names.flatMap((name) => (hasPort(name) ? [name] : [name, `${name}:${port}`])).map((name) => name.toLowerCase()),
  );
}

const WELL_FORMED = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

export function checkHost(request: IncomingMessage, hosts: HostList): void {
  const [host, ...others] = valuesOf(request, "host");
  if (host === undefined || others.length > 0 || !WELL_FORMED.test(host)) {
    throw new Refusal(400, "invalid-request", "The request needs one well-formed Host header.", { code: "bad_host" });
  }
  if (hosts.has(host.toLowerCase())) return;
  throw new Refusal(421, "invalid-request", "This gateway is not known by the name in the Host header.", {
    code: "unknown_host",
    hint: "Use 127.0.0.1 or localhost with the right port, or add the name to the setting `hosts`.",
  });
}
