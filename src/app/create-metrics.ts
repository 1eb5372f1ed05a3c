import type { Engine } from "../core/engine/engine.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { SessionPool } from "../wire/http/session-pool.ts";
import type { Drivers } from "./compose-drivers.ts";
import type { ComposedHub } from "./compose-hub.ts";
import type { Config } from "./load-config.ts";
import type { OpenTraces } from "./open-traces.ts";

interface MetricsParts {
  readonly engine: Engine;
  readonly pool: SessionPool;
  readonly drivers: Drivers;
  readonly hub: ComposedHub;
  readonly traces: OpenTraces | undefined;
}

/** Creates the metrics of a gateway, unless the settings turn them off. */
export const createMetrics = (
  { metrics }: Config,
  { engine, pool, drivers, hub, traces }: MetricsParts,
): Metrics | undefined =>
  metrics === "off"
    ? undefined
    : new Metrics({
        engine: () => engine.stats(),
        upstream: () => pool.stats(),
        retries: () => drivers.retries(),
        hub: () => hub.stats(),
        traces: traces && (() => traces.stats()),
      });
