import { isIPv4 } from "node:net";
import { ExcursorError } from "../../core/errors.ts";

export const isLoopback = (host: string): boolean => (isIPv4(host) && host.startsWith("127.")) || host === "::1";

/** Throws if the listener is given a name, which may stand for several addresses. */
export function checkBind(host: string): void {
  if (host === "localhost") throw new ExcursorError("host_not_address");
}
