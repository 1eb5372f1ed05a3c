import type { IncomingHttpHeaders } from "node:http";
import { Refusal } from "../refusal.ts";
import { type RawHeaders, valuesOf } from "./header-values.ts";
import type { HostList } from "./host-list.ts";

/** The exact web origins whose pages may send requests: our own and the configured ones. Never `null`. */
export type OriginList = ReadonlySet<string>;

export function createOriginList(hosts: HostList, port: number, configured: readonly string[]): OriginList {
  // The same name without our port is another server.
  const ours = [...hosts.exact].filter((host) => host.endsWith(`:${port}`));
  return new Set([...ours.map((host) => `http://${host}`), ...configured]);
}

/**
 * Refuses requests of other sites' pages. Programs send neither `Origin` nor `Sec-Fetch-Site`.
 *
 * @param isConfigurable Whether the setting `origins` applies to this listener, so that the refusal may mention it.
 */
export function checkOrigin(
  request: RawHeaders & { readonly headers: IncomingHttpHeaders },
  origins: OriginList,
  isConfigurable: boolean,
): void {
  const given = valuesOf(request, "origin");
  const isKnown = given.length === 1 && origins.has(given[0] ?? "");
  if (isKnown) return;
  const site = request.headers["sec-fetch-site"] ?? "none";
  if (given.length === 0 && (site === "none" || site === "same-origin")) return;
  throw new Refusal(403, "foreign_origin", [], {
    hint: isConfigurable
      ? "If this is your own page or program, add its origin to the setting `origins`. Its requests still need the key."
      : null,
  });
}
