import type { IncomingMessage } from "node:http";
import { Refusal } from "../refusal.ts";
import { valuesOf } from "./header-values.ts";
import type { HostList } from "./host-list.ts";

/** The web origins whose pages may send requests: our own, and what is configured. Exact; `null` is never one. */
export type OriginList = ReadonlySet<string>;

export function createOriginList(hosts: HostList, port: number, configured: readonly string[]): OriginList {
  // Without its port the same name is another server's.
  const ours = [...hosts.exact].filter((host) => host.endsWith(`:${port}`));
  return new Set([...ours.map((host) => `http://${host}`), ...configured]);
}

/**
 * Refuses what a page of another site sends through the user's browser. Programs send neither header.
 *
 * @param isConfigurable Whether the setting `origins` holds for this listener, so that the refusal may advise it.
 */
export function checkOrigin(request: IncomingMessage, origins: OriginList, isConfigurable: boolean): void {
  const given = valuesOf(request, "origin");
  const isKnown = given.length === 1 && origins.has(given[0] ?? "");
  if (isKnown) return;
  const site = request.headers["sec-fetch-site"] ?? "none";
  if (given.length === 0 && (site === "none" || site === "same-origin")) return;
  throw new Refusal(403, "forbidden", "Pages of other sites may not send requests here.", {
    code: "foreign_origin",
    hint: isConfigurable
      ? "If this is a page or program of yours, add its origin to the setting `origins`; it needs the key all the same."
      : null,
  });
}
