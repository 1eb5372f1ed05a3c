import type { ValuesOf } from "../../config/setting.ts";
import { secretsAmong } from "../../core/access/environment-secrets.ts";
import type { Driver } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import { createWatchdog } from "../../process/watchdog.ts";
import type { DriverContext } from "../shared/driver-module.ts";
import { createAgentTable, hasSwitch } from "./agent/agent-table.ts";
import { createAcpDriver } from "./driver.ts";
import type { SETTINGS } from "./settings.ts";

const UNBOUND =
  "Excursor knows no permission switch for this agent. `allow` and `permissions` only apply when the agent asks.";

/** Creates the driver from the settings. An agent that cannot be used is logged and skipped. */
export function openAcpDriver(context: DriverContext<ValuesOf<typeof SETTINGS>>): Driver {
  const { settings, environment, log, isOwner, onSecret, prompts } = context;
  const agents = createAgentTable({ entries: settings.agents, environment, folder: process.cwd() });
  for (const name of Object.keys(settings.agents ?? {})) {
    const agent = agents.get(name);
    if (agent instanceof ExcursorError) log.warn({ agent: name }, agent.message);
    else if (agent) {
      for (const secret of secretsAmong(agent.environment)) onSecret(secret);
      if (!hasSwitch(name, agent)) log.info({ agent: name }, UNBOUND);
    }
  }
  return createAcpDriver({
    agents,
    isAllowed: isOwner,
    prompts,
    watchdog: createWatchdog(),
    environment,
    onExit: (agent, error, stderr) => log.warn({ agent, stderr }, error.message),
  });
}
