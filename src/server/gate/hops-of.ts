import type { IncomingMessage } from "node:http";
import { HOP_HEADER, readHops } from "../../core/hops.ts";

/** The gateways that a request has passed; Node joins several headers of a name by commas. */
export function hopsOf({ headers }: IncomingMessage): readonly string[] {
  const given = headers[HOP_HEADER];
  return readHops(Array.isArray(given) ? given.join(",") : given);
}
