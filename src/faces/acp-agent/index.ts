import { isAbsolute } from "node:path";
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type McpServer,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
} from "@agentclientprotocol/sdk";
import type { ModelInfo } from "../../core/driver.ts";
import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import { type KeptSessions, NO_SESSIONS } from "../../core/history/kept-sessions.ts";
import type { Message, Principal } from "../../core/turn.ts";
import { errorMessage } from "../shared/error-message.ts";
import { parseMessages, replay } from "./kept-messages.ts";
import type { OpenEditorServers } from "./server-tools.ts";
import { Session } from "./session.ts";

export interface AcpAgentOptions {
  readonly engine: Pick<Engine, "run" | "listModels" | "listCommands">;
  readonly principal: Principal;
  /** The model that a session begins with. */
  readonly model: string;
  readonly version: string;
  /** Reaches MCP servers that the editor names; without it there are none. */
  readonly openServers?: OpenEditorServers;
  /** Conversations that can be gone on with after a restart. */
  readonly memory?: KeptSessions;
}

/** What is gone on with. */
interface Loaded {
  readonly id: string;
  readonly model: string;
  readonly messages: readonly Message[];
}

/** How many conversations one editor may have open. */
const MAX_SESSIONS = 100;

/** Excursor itself as an agent: an editor that speaks ACP uses any model of the engine, with its own files and terminals. */
export function createAcpAgent(options: AcpAgentOptions): AgentApp {
  const { engine, principal, model, version, openServers, memory = NO_SESSIONS } = options;
  const sessions = new Map<string, Session>();
  let capabilities: ClientCapabilities = {};
  const find = (sessionId: string): Session => {
    const session = sessions.get(sessionId);
    if (!session) throw RequestError.resourceNotFound(sessionId);
    return session;
  };
  const begin = (cwd: string, mcpServers: readonly McpServer[], kept?: Loaded): Session => {
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, "cwd: expected an absolute path");
    if (sessions.size >= MAX_SESSIONS) throw RequestError.invalidRequest(undefined, "Too many sessions are open.");
    const session = new Session({
      engine,
      principal,
      model: kept?.model ?? model,
      folder: cwd,
      capabilities,
      servers: mcpServers.length > 0 ? serversOf(mcpServers, cwd) : undefined,
      memory,
      kept,
    });
    sessions.set(session.id, session);
    return session;
  };
  const serversOf = (mcpServers: readonly McpServer[], cwd: string) => {
    try {
      return openServers?.(mcpServers, cwd);
    } catch (error) {
      throw RequestError.invalidParams(undefined, ExcursorError.from(error).message);
    }
  };
  const drop = async (sessionId: string): Promise<void> => {
    const session = sessions.get(sessionId);
    sessions.delete(sessionId);
    await session?.drop();
  };
  /** What was kept of a conversation. One that is open is closed: whoever loads it goes on with it here. */
  const load = async (sessionId: string): Promise<Loaded> => {
    const kept = memory.find(principal.id, sessionId);
    const messages = parseMessages(kept?.messages ?? "");
    if (!kept || !messages) throw RequestError.resourceNotFound(sessionId);
    await drop(sessionId);
    return { id: sessionId, model: kept.model, messages };
  };
  const listModels = () => engine.listModels(principal, new AbortController().signal).catch(refuse);
  return (
    agent({ name: "excursor" })
      .onRequest("initialize", ({ params }) => {
        capabilities = params.clientCapabilities ?? {};
        return {
          protocolVersion: PROTOCOL_VERSION,
          agentInfo: { name: "excursor", title: "Excursor", version },
          agentCapabilities: {
            promptCapabilities: { image: true, embeddedContext: true },
            mcpCapabilities: { http: openServers !== undefined, sse: openServers !== undefined },
            loadSession: true,
            sessionCapabilities: { close: {}, list: {}, delete: {}, resume: {} },
          },
          authMethods: [{ id: "login", name: "excursor login", description: "Run `excursor login` in a terminal." }],
        };
      })
      // Whether somebody has signed in meanwhile shows when a model is asked for.
      .onRequest("authenticate", () => ({}))
      .onRequest("session/new", async ({ params: { cwd, mcpServers }, client }) => {
        const models = await listModels();
        const session = begin(cwd, mcpServers);
        void tellCommands(session, client);
        return { sessionId: session.id, configOptions: configOptions(models, session.model) };
      })
      .onRequest("session/load", async ({ params: { cwd, mcpServers, sessionId }, client }) => {
        const models = await listModels();
        const kept = await load(sessionId);
        const session = begin(cwd, mcpServers, kept);
        for (const update of replay(kept.messages)) await client.notify("session/update", { sessionId, update });
        void tellCommands(session, client);
        return { configOptions: configOptions(models, session.model) };
      })
      .onRequest("session/resume", async ({ params: { cwd, mcpServers, sessionId }, client }) => {
        const models = await listModels();
        const session = begin(cwd, mcpServers ?? [], await load(sessionId));
        void tellCommands(session, client);
        return { configOptions: configOptions(models, session.model) };
      })
      .onRequest("session/list", ({ params }) => ({
        sessions: memory.list(principal.id, params.cwd ?? undefined).map(({ id, folder, title, updatedAt }) => ({
          sessionId: id,
          cwd: folder,
          title,
          updatedAt: updatedAt.toISOString(),
        })),
      }))
      .onRequest("session/delete", async ({ params: { sessionId } }) => {
        await drop(sessionId);
        memory.forget(principal.id, sessionId);
        return {};
      })
      .onRequest("session/set_config_option", async ({ params, client }) => {
        const session = find(params.sessionId);
        const models = await listModels();
        if (params.configId !== "model" || !models.some(({ id }) => id === params.value)) {
          throw RequestError.invalidParams(
            undefined,
            `There is no ${params.configId} ${JSON.stringify(params.value)}.`,
          );
        }
        session.model = String(params.value);
        void tellCommands(session, client);
        return { configOptions: configOptions(models, session.model) };
      })
      .onRequest("session/prompt", async ({ params, client }) => {
        const session = find(params.sessionId);
        if (session.isBusy) throw RequestError.invalidRequest(undefined, "The turn before is still under way.");
        return { stopReason: await session.prompt(params.prompt, client).catch(refuse) };
      })
      .onRequest("session/close", async ({ params }) => {
        const session = find(params.sessionId);
        sessions.delete(params.sessionId);
        await session.close();
      })
      .onNotification("session/cancel", ({ params }) => sessions.get(params.sessionId)?.cancel())
  );

  /** After the answer to the request that began it; an agent behind us may have some. */
  async function tellCommands(session: Session, client: AgentContext): Promise<void> {
    const commands = await engine.listCommands(session.model, principal).catch(() => []);
    if (commands.length === 0) return;
    const availableCommands = commands.map(({ name, description }) => ({ name, description }));
    const update = { sessionUpdate: "available_commands_update", availableCommands } as const;
    await client.notify("session/update", { sessionId: session.id, update }).catch(() => {});
  }
}

/** The first of them is what `auto` means, and is there even if nobody lists it. */
function configOptions(models: readonly ModelInfo[], current: string): SessionConfigOption[] {
  const options = models.map(({ id, displayName }) => ({ value: id, name: displayName }));
  if (!models.some(({ id }) => id === current)) options.unshift({ value: current, name: current });
  return [{ id: "model", name: "Model", category: "model", type: "select", currentValue: current, options }];
}

/** What went wrong, in the words of the protocol. */
function refuse(thrown: unknown): never {
  if (thrown instanceof RequestError) throw thrown;
  const error = ExcursorError.from(thrown);
  if (error.kind === "unauthenticated") throw RequestError.authRequired(undefined, error.message);
  throw new RequestError(-32_603, errorMessage(error, "acp"), { code: error.code });
}
