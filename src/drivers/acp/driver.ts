import type { AgentInfo, Driver, ModelInfo } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import { agentModel, readAgentModel } from "../../core/models/agent-models.ts";
import type { OwnerPrompts } from "../../core/owner-prompts.ts";
import type { Principal } from "../../core/turn.ts";
import type { Watchdog } from "../../process/watchdog.ts";
import { failedRun } from "../shared/failed-run.ts";
import { AcpRun } from "./acp-run.ts";
import { Agent } from "./agent/agent.ts";
import { AgentSessionStore } from "./agent/agent-session-store.ts";
import { NOT_INSTALLED } from "./agent/agent-table.ts";
import type { AgentSettings, AgentTable } from "./agent-settings.ts";
import { type AgentLimits, DEFAULT_AGENT_LIMITS } from "./limits.ts";

export interface AcpDriverOptions {
  readonly agents: AgentTable;
  /** Who may use agents. They read and change this machine, so this is stricter than for models. */
  readonly isAllowed: (principal: Principal) => boolean;
  /** Asks the owner, if the client of a turn cannot show questions. Absent: nobody is asked then. */
  readonly prompts?: OwnerPrompts | undefined;
  readonly watchdog: Watchdog;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<AgentLimits>;
  /** Called when an agent exits by itself, with the end of its stderr. */
  readonly onExit?: (agent: string, error: ExcursorError, stderr: string) => void;
}

export interface AcpDriver extends Driver {
  /** Ends all agents with their child processes. */
  close(): Promise<void>;
}

/** Creates the driver that offers ACP agents as models. */
export function createAcpDriver(options: AcpDriverOptions): AcpDriver {
  const { agents, isAllowed, watchdog, environment, limits, onExit, prompts } = options;
  const allLimits = { ...DEFAULT_AGENT_LIMITS, ...limits };
  const sessions = new AgentSessionStore(allLimits.sessions);
  const running = new Map<string, Agent>();
  const agentFor = (settings: AgentSettings): Agent => {
    const known = running.get(settings.name);
    if (known) return known;
    const agent = new Agent({
      settings,
      limits: allLimits,
      watchdog,
      environment,
      onExit: (error, stderr) => onExit?.(settings.name, error, stderr),
    });
    running.set(settings.name, agent);
    return agent;
  };
  return {
    open(turn, context) {
      try {
        if (!isAllowed(turn.principal)) throw notForThem();
        const [settings, model] = find(agents, turn.model.id);
        const agent = agentFor(settings);
        const run = new AcpRun({ turn, context, agent, settings, model, sessions, limits: allLimits, prompts });
        void run.start();
        return run;
      } catch (error) {
        return failedRun(error);
      }
    },
    async listModels(principal) {
      if (!isAllowed(principal)) return [];
      return [...agents.values()].flatMap((agent) =>
        agent instanceof ExcursorError ? [] : [describe(agent, running.get(agent.name)?.takesImages)],
      );
    },
    async listCommands(model, principal) {
      if (!isAllowed(principal)) throw notForThem();
      const [settings] = find(agents, model);
      const lease = await agentFor(settings).lease();
      try {
        return await lease.process.listCommands();
      } finally {
        lease.release();
      }
    },
    listAgents: () => [...agents].map(([name, agent]) => report(name, agent, running.get(name))),
    async close() {
      await Promise.all([...running.values()].map((agent) => agent.close()));
    },
  };
}

function find(agents: AgentTable, model: string): readonly [AgentSettings, string | undefined] {
  const [name, own] = readAgentModel(model);
  const settings = agents.get(name) ?? agents.get([...agents.keys()].find((known) => isSameName(known, name)) ?? "");
  if (settings instanceof ExcursorError) throw settings;
  if (settings) return [settings, own];
  throw new ExcursorError("model-not-found", `The agent ${JSON.stringify(name)} is not configured.`, {
    field: "model",
    hint: `Known agents: ${[...agents.keys()].map(agentModel).join(", ")}. Add others to the setting \`agents\`.`,
  });
}

/** The IDE uses only lower-case names. */
const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

const notForThem = (): ExcursorError => new ExcursorError("agents_for_owner", [], { field: "model" });

function report(name: string, settings: AgentSettings | ExcursorError, agent: Agent | undefined): AgentInfo {
  const model = agentModel(name);
  if (settings instanceof ExcursorError) {
    const { code, message, hint } = settings;
    return code === NOT_INSTALLED
      ? { model, displayName: name, state: "missing", turns: 0, problem: hint }
      : { model, displayName: name, state: "failed", turns: 0, problem: message };
  }
  return {
    model,
    displayName: settings.displayName,
    state: agent?.state ?? "stopped",
    turns: agent?.turns ?? 0,
    problem: agent?.error?.message,
  };
}

/** A guess: agents manage their own context. */
const CONTEXT_TOKENS = 200_000;

/** Image support is known after the first start, from the handshake. */
const describe = ({ name, displayName }: AgentSettings, takesImages = false): ModelInfo => ({
  id: agentModel(name),
  displayName,
  aliases: [],
  contextTokens: CONTEXT_TOKENS,
  supportsImages: takesImages,
  isThinking: true,
  efforts: [],
});
