import type { Config } from "../../app/load-config.ts";
import { secretsAmong } from "../../core/access/environment-secrets.ts";
import { ExcursorError } from "../../core/errors.ts";
import { printable } from "../../core/printable.ts";
import type { Secret } from "../../core/secret.ts";
import { createAgentTable, hasSwitch } from "../../drivers/acp/agent/agent-table.ts";
import type { AgentSettings } from "../../drivers/acp/agent-settings.ts";
import { DEFAULT_AGENT_LIMITS } from "../../drivers/acp/limits.ts";
import { createWatchdog } from "../../process/watchdog.ts";
import { type Check, type Finding, ok, skip, warn } from "./check.ts";

export interface AgentCheckOptions {
  readonly config: Config;
  /** Starts no agents. */
  readonly isQuick: boolean;
  /** Called with the secrets in the agents' environments. */
  readonly onSecret: (secret: Secret) => void;
}

const START_MS = 20_000;

/**
 * Checks that each configured or installed agent starts and completes its handshake. A failing one does not affect the
 * gateway.
 */
export function agentChecks({ config, isQuick, onSecret }: AgentCheckOptions): readonly Check[] {
  const { env: environment } = process;
  const table = createAgentTable({ entries: config.agents, environment, folder: process.cwd() });
  const isConfigured = (name: string) => Object.hasOwn(config.agents ?? {}, name);
  const wanted = [...table].filter(([name, agent]) => isConfigured(name) || !(agent instanceof ExcursorError));
  for (const agent of table.values()) {
    if (!(agent instanceof ExcursorError)) for (const secret of secretsAmong(agent.environment)) onSecret(secret);
  }
  let tried: ReadonlyMap<string, Promise<Finding>> | undefined;
  return wanted.map(
    ([name, agent]): Check => ({
      id: `agent/${printable(name)}`,
      look: () => {
        if (agent instanceof ExcursorError) return findingFor(agent);
        if (isQuick) return skip("Not started.");
        // Starts all at once, so that slow ones do not add up.
        tried ??= new Map(
          wanted.flatMap(([key, each]) => (each instanceof ExcursorError ? [] : [[key, tryAgent(each)] as const])),
        );
        return tried.get(name) ?? skip("Not started.");
      },
    }),
  );
}

async function tryAgent(settings: AgentSettings): Promise<Finding> {
  const { AgentProcess } = await import("../../drivers/acp/agent/agent-process.ts");
  const startedAt = performance.now();
  try {
    const agent = await AgentProcess.start({
      settings,
      limits: { ...DEFAULT_AGENT_LIMITS, startMs: START_MS },
      watchdog: createWatchdog(),
      environment: process.env,
      onExit: () => {},
    });
    const ms = Math.round(performance.now() - startedAt);
    await agent.end();
    const bound = hasSwitch(settings.name, settings)
      ? "`allow` sets the agent's own permission switch."
      : "`allow` only applies when the agent asks: Excursor knows no permission switch for it.";
    return ok(printable(`${settings.command} started and answered in ${ms} ms. ${bound}`));
  } catch (error) {
    return findingFor(ExcursorError.from(error));
  }
}

const findingFor = ({ message, hint }: ExcursorError): Finding =>
  warn(printable(message), hint ?? "The gateway works without it.");
