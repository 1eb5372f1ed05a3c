import type { IncomingMessage } from "node:http";
import { HOP_HEADER, readHops } from "../../core/hops.ts";

/** Returns the ids of the gateways that a request has passed. */
export function hopsOf({ headers }: IncomingMessage): readonly string[] {
  const given = headers[HOP_HEADER];
  return readHops(Array.isArray(given) ? given.join(",") : given);
}
