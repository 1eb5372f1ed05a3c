import { isAbsolute } from "node:path";
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
} from "@agentclientprotocol/sdk";
import type { ModelInfo } from "../../core/driver.ts";
import type { Engine } from "../../core/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";
import { errorMessage } from "../error-message.ts";
import { Session } from "./session.ts";

export interface AcpAgentOptions {
  readonly engine: Pick<Engine, "answer" | "listModels" | "listCommands">;
  readonly principal: Principal;
  /** The model that a session begins with. */
  readonly model: string;
  readonly version: string;
}

/** How many conversations one editor may have open. */
const MAX_SESSIONS = 100;

/** Excursor itself as an agent: an editor that speaks ACP uses any model of the engine, with its own files and terminals. */
export function createAcpAgent({ engine, principal, model, version }: AcpAgentOptions): AgentApp {
  const sessions = new Map<string, Session>();
  let capabilities: ClientCapabilities = {};
  const find = (sessionId: string): Session => {
    const session = sessions.get(sessionId);
    if (!session) throw RequestError.resourceNotFound(sessionId);
    return session;
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
            sessionCapabilities: { close: {} },
          },
          authMethods: [{ id: "login", name: "excursor login", description: "Run `excursor login` in a terminal." }],
        };
      })
      // Whether somebody has signed in meanwhile shows when a model is asked for.
      .onRequest("authenticate", () => ({}))
      .onRequest("session/new", async ({ params: { cwd }, client }) => {
        if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, "cwd: expected an absolute path");
        if (sessions.size >= MAX_SESSIONS) throw RequestError.invalidRequest(undefined, "Too many sessions are open.");
        const models = await listModels();
        const session = new Session({ engine, principal, model, folder: cwd, capabilities });
        sessions.set(session.id, session);
        void tellCommands(session, client);
        return { sessionId: session.id, configOptions: configOptions(models, session.model) };
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
      .onRequest("session/close", ({ params }) => {
        find(params.sessionId).cancel();
        sessions.delete(params.sessionId);
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
