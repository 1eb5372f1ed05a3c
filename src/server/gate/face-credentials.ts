import type { IncomingMessage } from "node:http";
import type { CredentialPlace } from "../../faces/shared/face-module.ts";

/**
 * Returns the keys from the places where the face expects them, and removes them from the request, so that they are not
 * logged, echoed or forwarded. Only the first value of a repeated parameter counts: one request cannot try many keys
 * (SEC-09).
 */
export function takeCredentials(request: IncomingMessage, places: readonly CredentialPlace[] = []): readonly string[] {
  return places.flatMap((place) => {
    const given = "header" in place ? takeHeader(request, place.header) : takeParameter(request, place.query);
    return given === undefined || given === "" ? [] : [given];
  });
}

function takeHeader({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  delete headers[name];
  return typeof value === "string" ? value.trim() : undefined;
}

function takeParameter(request: IncomingMessage, name: string): string | undefined {
  const { url = "" } = request;
  const start = url.indexOf("?");
  const query = new URLSearchParams(start === -1 ? "" : url.slice(start + 1));
  const value = query.get(name) ?? undefined;
  if (value === undefined) return undefined;
  query.delete(name);
  request.url = query.size === 0 ? url.slice(0, start) : `${url.slice(0, start)}?${query}`;
  return value;
}
