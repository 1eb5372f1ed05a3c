import { HOP_HEADER, writeHops } from "../../core/hops.ts";
import type { HttpTransport } from "../../wire/http/http.ts";

/** Where an upstream with a public HTTP API is, and how we sign in there. */
export interface ApiEndpoint {
  readonly transport: HttpTransport;
  readonly origin: string;
  /** What stands before every path, without a slash at its end. */
  readonly basePath: string;
  /** Content type aside. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where it may be a gateway, our own included. */
  readonly hop?: Hop | undefined;
}

/** What tells a request of ours that comes back to us. */
export interface Hop {
  /** Of this process. */
  readonly id: string;
  /** The entry in the settings that leads to this upstream. */
  readonly entry: string;
}

/** Headers that name this gateway and those before it. */
export const hopHeaders = ({ hop }: ApiEndpoint, hops: readonly string[] = []): Readonly<Record<string, string>> =>
  hop ? { [HOP_HEADER]: writeHops(hops, hop.id) } : {};

/** `https://host/v1/` → its origin, and `/v1`. */
export function readBaseUrl(baseURL: string): Pick<ApiEndpoint, "origin" | "basePath"> {
  const { origin, pathname } = new URL(baseURL);
  return { origin, basePath: pathname.replace(/\/+$/, "") };
}

/** The model's name at the upstream for the one that clients use, and the other way round. */
export interface ModelNames {
  toUpstream(name: string): string;
  /** Undefined for a model that is not offered. */
  toClient(upstreamName: string): string | undefined;
}
