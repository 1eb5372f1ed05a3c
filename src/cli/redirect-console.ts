import { format } from "node:util";
import type { Log } from "../observe/log.ts";

/**
 * Redirects the console to the log, which redacts secrets: libraries print, and stdout may belong to a protocol. For
 * long-running processes.
 */
export function redirectConsole(log: Log): void {
  const write = (...given: unknown[]) => log.warn({}, format(...given));
  for (const method of ["log", "info", "warn", "error", "debug"] as const) console[method] = write;
}
