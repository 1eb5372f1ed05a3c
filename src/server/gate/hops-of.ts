import type { IncomingMessage } from "node:http";
import { HOP_HEADER, readHops } from "../../core/http/hops.ts";

export function hopsOf({ headers }: IncomingMessage): readonly string[] {
  const given = headers[HOP_HEADER];
  return readHops(Array.isArray(given) ? given.join(",") : given);
}
