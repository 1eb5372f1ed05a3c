import {
  type ClientConnection,
  type ContentBlock,
  client,
  methods,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { SlashCommand } from "../../../core/driver.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { unlessGone } from "../../../core/ignored-failures.ts";
import { within } from "../../../core/within.ts";
import { minimalEnvironment } from "../../../process/minimal-environment.ts";
import { type ProcessGroup, startGroup } from "../../../process/process-group.ts";
import type { Watchdog } from "../../../process/watchdog.ts";
import type { AgentSettings } from "../agent-settings.ts";
import type { AgentLimits } from "../limits.ts";
import {
  type Capabilities,
  initializeResponse,
  type NewSession,
  NO_CAPABILITIES,
  newSessionResponse,
  promptResponse,
  readResponse,
  resumedResponse,
} from "../read-response.ts";
import { type AgentUpdate, readUpdate } from "../read-update.ts";
import { agentError, agentExited, agentSilent, cannotStart } from "./agent-errors.ts";
import { AgentPipe } from "./agent-pipe.ts";

export interface ProcessOptions {
  readonly settings: AgentSettings;
  readonly limits: AgentLimits;
  readonly watchdog: Watchdog;
  /** The gateway's own environment. The agent gets a minimal part of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called when a process exits by itself or cannot be used, with the end of its stderr. */
  readonly onExit: (error: ExcursorError, stderr: string) => void;
}

export interface SessionListener {
  update(update: AgentUpdate): void;
  ask(request: RequestPermissionRequest): RequestPermissionResponse | Promise<RequestPermissionResponse>;
}

/** A running agent: one program, one connection, many sessions. It gets neither files nor terminals from us. */
export class AgentProcess {
  /** Resolves with the reason when the process cannot be used any more. */
  readonly over: Promise<ExcursorError>;
  readonly pipe: AgentPipe;
  capabilities: Capabilities = NO_CAPABILITIES;
  readonly #options: ProcessOptions;
  readonly #group: ProcessGroup;
  readonly #connection: ClientConnection;
  readonly #listeners = new Map<string, SessionListener>();
  /** The latest slash commands. */
  #commands: readonly SlashCommand[] | undefined;
  #onCommands = () => {};
  #stderr = "";
  #failure: ExcursorError | undefined;

  private constructor(options: ProcessOptions, group: ProcessGroup) {
    const { settings, limits } = options;
    this.#options = options;
    this.#group = group;
    const { child } = group;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-limits.stderrBytes);
    });
    this.pipe = new AgentPipe(child, limits.messageBytes, (method, params) => {
      if (method === methods.client.session.update) this.#onUpdate(readUpdate(params));
    });
    this.#connection = client({ name: "excursor" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => this.#onAsk(params))
      .connect(this.pipe.stream);
    this.over = new Promise((resolve) => {
      const finish = (error: ExcursorError) => {
        if (!this.#failure) options.onExit(error, this.#stderr);
        this.#failure ??= error;
        this.#connection.close(this.#failure);
        // Child processes may still be running.
        void group.end();
        resolve(this.#failure);
      };
      child.once("exit", (code, signal) => finish(agentExited(settings.name, code, signal)));
      const { signal } = this.#connection;
      signal.addEventListener("abort", () => {
        // Stdout closes just before the exit is known, and the exit says more.
        setTimeout(() => finish(agentError(settings.name, signal.reason)), CLOSING_MS);
      });
    });
  }

  /** Starts the program and initialises the connection. */
  static async start(options: ProcessOptions): Promise<AgentProcess> {
    const { settings, watchdog, environment, limits } = options;
    const { command, args, folder } = settings;
    const named = Object.fromEntries(
      Object.entries(settings.environment).map(([name, value]) => [name, value.reveal()]),
    );
    const group = await startGroup({
      command,
      args,
      folder,
      environment: minimalEnvironment(environment, named),
      watchdog,
    }).catch((error: unknown) => {
      throw cannotStart(settings, error);
    });
    const agent = new AgentProcess(options, group);
    try {
      const response = await agent.#within(
        limits.startMs,
        "did not complete the handshake",
        agent.#connection.agent.request(methods.agent.initialize, {
          protocolVersion: PROTOCOL_VERSION,
          clientInfo: { name: "excursor", title: "Excursor", version: "1" },
          clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        }),
      );
      const { initialize } = methods.agent;
      const { protocolVersion, agentCapabilities } = readResponse(
        initializeResponse,
        settings.name,
        initialize,
        response,
      );
      if (protocolVersion !== PROTOCOL_VERSION) throw otherVersion(settings.name, protocolVersion);
      agent.capabilities = agentCapabilities;
      return agent;
    } catch (error) {
      if (!agent.isOver) options.onExit(ExcursorError.from(error), agent.#stderr);
      await agent.end();
      throw error;
    }
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  async newSession(): Promise<NewSession> {
    const { folder: cwd, name } = this.#options.settings;
    const method = methods.agent.session.new;
    const response = await this.#soon("did not open a session", (agent) =>
      agent.request(method, { cwd, mcpServers: [] }),
    );
    const session = readResponse(newSessionResponse, name, method, response);
    await this.#holdToAsking(session.sessionId, session.modes);
    return session;
  }

  /** The user's own settings of the agent may allow tools without a question. This sets the mode that asks. */
  async #holdToAsking(sessionId: string, current: string | undefined): Promise<void> {
    const { asking } = this.#options.settings;
    if (!asking || current === undefined || !asking.looser.includes(current)) return;
    await this.#soon("did not change the mode", (agent) =>
      agent.request(methods.agent.session.setMode, { sessionId, modeId: asking.mode }),
    );
  }

  /** Resumes a session of an earlier process. Returns false if the agent cannot. */
  async resumeSession(sessionId: string): Promise<boolean> {
    const { sessionCapabilities, loadSession } = this.capabilities;
    const params = { sessionId, cwd: this.#options.settings.folder, mcpServers: [] };
    if (!sessionCapabilities["resume"] && !loadSession) return false;
    try {
      const response = sessionCapabilities["resume"]
        ? await this.#soon("did not resume the session", (agent) => agent.request(methods.agent.session.resume, params))
        : // The updates that a load replays are dropped: the client has them.
          await this.#soon("did not load the session", (agent) => agent.request(methods.agent.session.load, params));
      await this.#holdToAsking(sessionId, resumedResponse.parse(response).modes);
      return true;
    } catch (error) {
      if (this.isOver) throw error;
      return false;
    }
  }

  /** Returns the slash commands, which agents send shortly after a session begins, if at all. */
  async listCommands(): Promise<readonly SlashCommand[]> {
    if (this.#commands) return this.#commands;
    const { sessionId } = await this.newSession();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onCommands = resolve;
    await within(promise, COMMANDS_MS);
    this.closeSession(sessionId);
    return this.#commands ?? [];
  }

  setConfigOption(sessionId: string, configId: string, value: string): Promise<unknown> {
    return this.#soon("did not change the setting", (agent) =>
      agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value }),
    );
  }

  /** Sends a prompt. Resolves with the agent's stop reason. */
  async prompt(sessionId: string, prompt: readonly ContentBlock[], listener: SessionListener): Promise<string> {
    this.#listeners.set(sessionId, listener);
    const method = methods.agent.session.prompt;
    try {
      const response = await this.#orOver(this.#connection.agent.request(method, { sessionId, prompt: [...prompt] }));
      return readResponse(promptResponse, this.#options.settings.name, method, response).stopReason;
    } finally {
      this.#listeners.delete(sessionId);
    }
  }

  cancel(sessionId: string): void {
    void unlessGone(this.#connection.agent.notify(methods.agent.session.cancel, { sessionId }));
  }

  closeSession(sessionId: string): void {
    if (this.isOver || !this.capabilities.sessionCapabilities["close"]) return;
    void unlessGone(this.#connection.agent.request(methods.agent.session.close, { sessionId }));
  }

  /** Ends the process with all its children. */
  async end(): Promise<void> {
    this.#failure ??= new ExcursorError("canceled", `The agent "${this.#options.settings.name}" was stopped.`);
    this.#connection.close(this.#failure);
    await this.#group.end();
  }

  #soon<T>(what: string, ask: (agent: ClientConnection["agent"]) => Promise<T>): Promise<T> {
    return this.#within(this.#options.limits.startMs, what, ask(this.#connection.agent));
  }

  #within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
    return within(this.#orOver(work), ms, () => {
      throw agentSilent(this.#options.settings.name, what, ms);
    });
  }

  /** Prefers the process's exit over the connection's error as the reason. */
  async #orOver<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (this.#connection.signal.aborted) throw await this.over;
      throw agentError(this.#options.settings.name, error);
    }
  }

  #onUpdate(notification: ReturnType<typeof readUpdate>): void {
    if (!notification) return;
    const { sessionId, update } = notification;
    if (update.sessionUpdate === "available_commands_update") {
      this.#commands = update.availableCommands.map(({ name, description }) => ({ name, description }));
      this.#onCommands();
    }
    this.#listeners.get(sessionId)?.update(update);
  }

  #onAsk(request: RequestPermissionRequest): RequestPermissionResponse | Promise<RequestPermissionResponse> {
    const listener = this.#listeners.get(request.sessionId);
    return listener ? listener.ask(request) : { outcome: { outcome: "cancelled" } };
  }
}

const CLOSING_MS = 200;
const COMMANDS_MS = 500;

const otherVersion = (name: string, version: number): ExcursorError =>
  new ExcursorError("agent_version", [name, version, PROTOCOL_VERSION]);
