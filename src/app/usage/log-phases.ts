import type { LossReason } from "../../core/engine/call-log.ts";
import type { Engine } from "../../core/engine/engine.ts";
import type { RunObserver, RunPhase } from "../../core/run-observer.ts";
import type { Log } from "../../observe/log.ts";
import type { Config } from "../load-config.ts";

/**
 * Logs one line for each run of a request at level debug: when it first reached each phase, in ms since the request was
 * handed to the engine. At other levels the engine is returned as it is.
 */
export function logPhases(engine: Engine, level: Config["logLevel"], log: Log): Engine {
  if (level !== "debug" && level !== "trace") return engine;
  return {
    ...engine,
    run(turn, context) {
      const { requestId, observer } = context;
      const startedAt = performance.now();
      let reached: Partial<Record<RunPhase, number>> = {};
      const phase = (name: RunPhase, atMs: number, reason?: LossReason): void => {
        observer?.phase(name, atMs, reason);
        reached[name] ??= Math.round(atMs - startedAt);
        if (name !== "ended") return;
        log.debug({ requestId, model: turn.model.id, ...reached }, "run phases");
        reached = {};
      };
      return engine.run(turn, { ...context, observer: withPhase(observer, phase) });
    },
  };
}

/** Returns an observer that is told the phases in place of the other one. */
const withPhase = (observer: RunObserver | undefined, phase: RunObserver["phase"]): RunObserver => ({
  phase,
  served: (model, driver) => observer?.served?.(model, driver),
  ...(observer?.keysOf && { keysOf: (messages) => observer.keysOf?.(messages) ?? [] }),
  answered: observer?.answered,
});
