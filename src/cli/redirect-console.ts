import { format } from "node:util";
import type { Log } from "../observe/log.ts";

/**
 * Libraries print: into the log with it, where secrets are taken out, and never to stdout, which may be a protocol's. For
 * processes that stay.
 */
export function redirectConsole(log: Log): void {
  const write = (...given: unknown[]) => log.warn({}, format(...given));
  for (const method of ["log", "info", "warn", "error", "debug"] as const) console[method] = write;
}
