import { isAbsolute } from "node:path";
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type McpServer,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import { type KeptSessions, NO_SESSIONS } from "../../core/history/kept-sessions.ts";
import { unlessGone } from "../../core/ignored-failures.ts";
import type { Message, Principal } from "../../core/turn.ts";
import { EditorSession } from "./editor-session.ts";
import { throwRequestError } from "./errors.ts";
import { parseMessages, replay } from "./kept-messages.ts";
import { modelOptions } from "./models.ts";
import type { OpenEditorServers } from "./server-tools.ts";

export interface AcpAgentOptions {
  readonly engine: Pick<Engine, "run" | "listModels" | "listCommands">;
  readonly principal: Principal;
  /** The model that a session begins with. */
  readonly model: string;
  readonly version: string;
  /** Connects to MCP servers that the editor names. Absent: they are not supported. */
  readonly openServers?: OpenEditorServers;
  /** Stores conversations, so that they can be loaded after a restart. */
  readonly memory?: KeptSessions;
}

/** A stored conversation that is loaded or resumed. */
interface Loaded {
  readonly id: string;
  readonly model: string;
  readonly messages: readonly Message[];
}

const MAX_SESSIONS = 100;

/** Creates an ACP agent: an editor can use any model of the engine, which works with the editor's files and terminals. */
export function createAcpAgent(options: AcpAgentOptions): AgentApp {
  const { engine, principal, model, version, openServers, memory = NO_SESSIONS } = options;
  const sessions = new Map<string, EditorSession>();
  let capabilities: ClientCapabilities = {};
  const find = (sessionId: string): EditorSession => {
    const session = sessions.get(sessionId);
    if (!session) throw RequestError.resourceNotFound(sessionId);
    return session;
  };
  const begin = async (cwd: string, mcpServers: readonly McpServer[], kept?: Loaded): Promise<EditorSession> => {
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, "cwd: expected an absolute path");
    if (sessions.size >= MAX_SESSIONS) throw RequestError.invalidRequest(undefined, "Too many sessions are open.");
    const servers = mcpServers.length > 0 ? serversOf(mcpServers, cwd) : undefined;
    const session = new EditorSession({
      engine,
      principal,
      model: kept?.model ?? model,
      folder: cwd,
      capabilities,
      servers,
      memory,
      kept,
    });
    sessions.set(session.id, session);
    // Starts them here, so that the first prompt has their tools and waits for none that hangs.
    await servers?.open(principal, new AbortController().signal);
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
  /** Reads a stored conversation. If its session is open, it is closed: the conversation continues in the new session. */
  const load = async (sessionId: string): Promise<Loaded> => {
    const kept = memory.find(principal.id, sessionId);
    const messages = parseMessages(kept?.messages ?? "");
    if (!kept || !messages) throw RequestError.resourceNotFound(sessionId);
    await drop(sessionId);
    return { id: sessionId, model: kept.model, messages };
  };
  const listModels = () => engine.listModels(principal, new AbortController().signal).catch(throwRequestError);
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
      // Signing in happens in a terminal; the next request for a model shows whether it did.
      .onRequest("authenticate", () => ({}))
      .onRequest("session/new", async ({ params: { cwd, mcpServers }, client }) => {
        const models = await listModels();
        const session = await begin(cwd, mcpServers);
        void tellCommands(session, client);
        return { sessionId: session.id, configOptions: modelOptions(models, session.model) };
      })
      .onRequest("session/load", async ({ params: { cwd, mcpServers, sessionId }, client }) => {
        const models = await listModels();
        const kept = await load(sessionId);
        const session = await begin(cwd, mcpServers, kept);
        for (const update of replay(kept.messages)) await client.notify("session/update", { sessionId, update });
        void tellCommands(session, client);
        return { configOptions: modelOptions(models, session.model) };
      })
      .onRequest("session/resume", async ({ params: { cwd, mcpServers, sessionId }, client }) => {
        const models = await listModels();
        const session = await begin(cwd, mcpServers ?? [], await load(sessionId));
        void tellCommands(session, client);
        return { configOptions: modelOptions(models, session.model) };
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
            `The ${params.configId} ${JSON.stringify(params.value)} does not exist.`,
          );
        }
        session.model = String(params.value);
        void tellCommands(session, client);
        return { configOptions: modelOptions(models, session.model) };
      })
      .onRequest("session/prompt", async ({ params, client }) => {
        const session = find(params.sessionId);
        if (session.isBusy)
          throw RequestError.invalidRequest(undefined, "The previous turn of this session is still running.");
        return { stopReason: await session.prompt(params.prompt, client).catch(throwRequestError) };
      })
      .onRequest("session/close", async ({ params }) => {
        const session = find(params.sessionId);
        sessions.delete(params.sessionId);
        await session.close();
      })
      .onNotification("session/cancel", ({ params }) => sessions.get(params.sessionId)?.cancel())
  );

  /** Sends the slash commands of the session's model, without delaying the response that opens the session. */
  async function tellCommands(session: EditorSession, client: AgentContext): Promise<void> {
    const commands = await engine.listCommands(session.model, principal).catch(() => []);
    if (commands.length === 0) return;
    const availableCommands = commands.map(({ name, description }) => ({ name, description }));
    const update = { sessionUpdate: "available_commands_update", availableCommands } as const;
    await unlessGone(client.notify("session/update", { sessionId: session.id, update }));
  }
}
