import { capturedCalls } from "../../dashboard/calls/captured.ts";
import { clientCalls } from "../../dashboard/calls/clients.ts";
import { healthCalls } from "../../dashboard/calls/health.ts";
import { keyCalls } from "../../dashboard/calls/keys.ts";
import { modelCalls } from "../../dashboard/calls/models.ts";
import { toolCalls } from "../../dashboard/calls/tools.ts";
import { createDashboard } from "../../dashboard/dashboard.ts";
import type { HealthLine } from "../../dashboard/messages.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { OpenEngine, RunningGateway } from "../open-gateway.ts";
import { checkDollarLimits } from "../usage/check-dollar-limits.ts";
import { recordTurns } from "../usage/record-turns.ts";
import { reportAccount } from "./account-report.ts";
import { captureDrift } from "./capture-drift.ts";
import { capturedSource } from "./captured-source.ts";
import { clientSources } from "./client-report.ts";
import { demoCalls } from "./demo-traffic.ts";
import { toolSources } from "./tool-report.ts";

/** What the dashboard gets from the program that starts the gateway. */
export interface DashboardServices {
  readonly version: string;
  /** Runs the checks of `excursor doctor`. */
  readonly examine: () => Promise<readonly HealthLine[]>;
}

export interface ComposeDashboardOptions extends DashboardServices {
  readonly loaded: LoadedConfig;
  readonly opened: OpenEngine;
  readonly isDemo: boolean;
  /** Returns the gateway, once it has started. */
  readonly running: () => RunningGateway | undefined;
}

/** Connects the dashboard with the parts of a gateway. */
export function composeDashboard({ version, examine, loaded, opened, isDemo, running }: ComposeDashboardOptions) {
  const { parts, keys, log, logTail, accounts, capture } = opened;
  const { values: config, home } = loaded;
  const { record, prices, driverOf } = parts;
  return createDashboard({
    version,
    isDemo,
    log,
    limits: config.limits,
    usage: record.connection,
    engine: parts.engine,
    recent: parts.recent,
    prompts: parts.prompts,
    keyName: (principalId) => keys.withId(principalId)?.name ?? principalId,
    lastLogLine: () => logTail.last,
    calls: [
      ...modelCalls({ engine: recordTurns(parts.engine, parts.usage, "dashboard"), prices, driverOf }),
      ...keyCalls({
        home,
        ownLimits: config.usage.ownLimits,
        accounts: accounts.names,
        checkLimits: (limits) => checkDollarLimits({ config, limits, isOwners: false, prices }),
        record,
      }),
      ...toolCalls(toolSources(parts, home)),
      ...clientCalls(clientSources({ home, config, opened, running })),
      ...demoCalls(isDemo, running),
      ...capturedCalls(record.connection, capturedSource(opened.capture)),
      ...healthCalls({
        about: {
          version,
          node: process.versions.node,
          platform: `${process.platform} ${process.arch}`,
          pid: process.pid,
          home,
          backend: isDemo ? "the built-in simulator" : accounts.origin,
          logLevel: config.logLevel,
        },
        capture: () => {
          if (!capture) return null;
          const { file, bytes, endReason = null } = capture;
          return { file, bytes, endReason };
        },
        drift: capture && (() => captureDrift(capture)),
        account: () => reportAccount(opened, config),
        examine,
        logTail,
      }),
    ],
  });
}
