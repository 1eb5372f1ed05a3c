import type { Transports } from "../drivers/cursor/run/stream.ts";
import type { Log } from "../observe/log.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import { type CallObserver, observeTransport } from "../wire/http/observed-transport.ts";
import type { Config } from "./load-config.ts";

/**
 * Logs each upstream call at level debug, and each frame at level trace. Other levels leave the transports unwrapped.
 */
export function observeUpstream({ h1, h2 }: Transports, level: Config["logLevel"], log: Log): Transports {
  const observer = observerAt(level, log);
  return observer ? { h1: observeTransport(h1, "h1", observer), h2: observeTransport(h2, "h2", observer) } : { h1, h2 };
}

/** The same for the transport that signs accounts in and renews their tokens. */
export function observeAccounts(transport: HttpTransport, level: Config["logLevel"], log: Log): HttpTransport {
  const observer = observerAt(level, log);
  return observer ? observeTransport(transport, "h1", observer, "account") : transport;
}

function observerAt(level: Config["logLevel"], log: Log): CallObserver | undefined {
  if (level !== "debug" && level !== "trace") return undefined;
  return {
    call: (call) => log.debug({ ...call }, "upstream call"),
    frame: level === "trace" ? (frame) => log.trace({ ...frame }, "frame") : undefined,
  };
}
