import type { Transports } from "../drivers/cursor/run/stream.ts";
import type { Log } from "../observe/log.ts";
import { type CallObserver, observeTransport } from "../wire/http/observed-transport.ts";
import type { Config } from "./load-config.ts";

/** Logs each upstream call at level debug, and each frame at level trace. At any other level nothing is in the way. */
export function observeUpstream(transports: Transports, level: Config["logLevel"], log: Log): Transports {
  if (level !== "debug" && level !== "trace") return transports;
  const observer: CallObserver = {
    call: (call) => log.debug({ ...call }, "upstream call"),
    frame: level === "trace" ? (frame) => log.trace({ ...frame }, "frame") : undefined,
  };
  return { h1: observeTransport(transports.h1, "h1", observer), h2: observeTransport(transports.h2, "h2", observer) };
}
