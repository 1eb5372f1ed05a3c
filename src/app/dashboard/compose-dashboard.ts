import { createDashboard } from "../../dashboard/dashboard.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { OpenEngine } from "../open-gateway.ts";

/** What the dashboard gets from the program that starts the gateway. */
export interface DashboardServices {
  readonly version: string;
}

export interface ComposeDashboardOptions extends DashboardServices {
  readonly loaded: LoadedConfig;
  readonly opened: OpenEngine;
  readonly isDemo: boolean;
}

/** Connects the dashboard with the parts of a gateway. */
export function composeDashboard({ version, loaded, opened, isDemo }: ComposeDashboardOptions) {
  const { parts, keys, logTail } = opened;
  return createDashboard({
    version,
    isDemo,
    limits: loaded.values.limits,
    usage: parts.record.connection,
    engine: parts.engine,
    recent: parts.recent,
    keyName: (principalId) => keys.withId(principalId)?.name ?? principalId,
    lastLogLine: () => logTail.last,
  });
}
