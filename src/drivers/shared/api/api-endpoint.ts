import { HOP_HEADER, writeHops } from "../../../core/http/hops.ts";
import type { HttpTransport } from "../../../wire/http/http.ts";

/** An upstream with a public HTTP API: its address and headers. */
export interface ApiEndpoint {
  readonly transport: HttpTransport;
  readonly origin: string;
  /** The prefix of every path, without a trailing slash. */
  readonly basePath: string;
  /** Without the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /** Set if it may be a gateway, possibly this one. */
  readonly hop?: Hop | undefined;
}

/** Identifies our own requests, to detect loops. */
export interface Hop {
  readonly id: string;
  /** The entry in the settings that leads to this upstream. */
  readonly entry: string;
}

/** Returns the header that lists this gateway and those before it. */
export const hopHeaders = ({ hop }: ApiEndpoint, hops: readonly string[] = []): Readonly<Record<string, string>> =>
  hop ? { [HOP_HEADER]: writeHops(hops, hop.id) } : {};

/** Splits `https://host/v1/` into its origin and `/v1`. */
export function readBaseUrl(baseURL: string): Pick<ApiEndpoint, "origin" | "basePath"> {
  const { origin, pathname } = new URL(baseURL);
  return { origin, basePath: pathname.replace(/\/{1,9}$/, "") };
}

/** Maps model names between clients and the upstream. */
export interface ModelNames {
  toUpstream(name: string): string;
  /** Returns undefined for a model that is not offered. */
  toClient(upstreamName: string): string | undefined;
}
