import { randomUUID } from "node:crypto";
import type { AgentContext, ClientCapabilities, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import { type AgentLoopEnd, runAgentLoop, type ToolRunner } from "../../core/engine/agent-loop.ts";
import type { Engine } from "../../core/engine/engine.ts";
import type { KeptSessions } from "../../core/history/kept-sessions.ts";
import type { Elicit, Toolbox } from "../../core/hub/tool-hub.ts";
import type { Message, Principal, Turn } from "../../core/turn.ts";
import { offeredTools, runEditorTool } from "./editor-tools.ts";
import { formatMessages, titleOf } from "./kept-messages.ts";
import { promptMessage } from "./parse.ts";
import type { Allowed } from "./permission.ts";
import { EventView } from "./render.ts";
import { type EditorServers, runServerTool } from "./server-tools.ts";

export interface EditorSessionOptions {
  readonly engine: Pick<Engine, "run">;
  readonly principal: Principal;
  readonly model: string;
  readonly folder: string;
  readonly capabilities: ClientCapabilities;
  /** The MCP servers whose tools the editor wants the model to have, beside the editor's own. */
  readonly servers?: EditorServers | undefined;
  readonly memory: KeptSessions;
  /** The conversation so far, if the session continues one. */
  readonly kept?: { readonly id: string; readonly messages: readonly Message[] } | undefined;
}

const STOP_REASONS: Readonly<Record<AgentLoopEnd, StopReason>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  cancelled: "cancelled",
  "max-rounds": "max_turn_requests",
};

/** One conversation in an editor: the agent loop over the engine, with the editor's files and terminals as tools. */
export class EditorSession {
  readonly id: string;
  model: string;
  readonly #options: EditorSessionOptions;
  readonly #messages: Message[];
  readonly #allowed: Allowed = new Set();
  #current: AbortController | undefined;
  #isKept = true;

  constructor(options: EditorSessionOptions) {
    this.#options = options;
    this.model = options.model;
    this.id = options.kept?.id ?? randomUUID();
    this.#messages = [...(options.kept?.messages ?? [])];
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  cancel(): void {
    this.#current?.abort();
  }

  /** Cancels the prompt that is running, and stops the servers that were started for the session. */
  async close(): Promise<void> {
    this.cancel();
    await this.#options.servers?.close();
  }

  /** Closes a session whose conversation was deleted or continues elsewhere: it is not stored again. */
  async drop(): Promise<void> {
    this.#isKept = false;
    await this.close();
  }

  /** Answers one prompt, with as many rounds of tools as the model needs. */
  async prompt(blocks: readonly ContentBlock[], client: AgentContext): Promise<StopReason> {
    const abort = new AbortController();
    const { signal } = abort;
    this.#current = abort;
    const before = this.#messages.length;
    this.#messages.push(promptMessage(blocks));
    try {
      const { engine, servers, principal } = this.#options;
      const toolbox = await servers?.open(principal, signal);
      const view = new EventView(client, this.id);
      const elicit = this.#elicit(client);
      const end = await runAgentLoop(this.#messages, {
        engine,
        tools: this.#toolRunner(client, view, toolbox, elicit),
        turnFor: (messages) => this.#turn(messages, toolbox),
        show: (events) => view.show(events),
        elicit,
        signal,
      });
      return STOP_REASONS[end];
    } catch (error) {
      if (signal.aborted) return "cancelled";
      // The user will ask again: a question without an answer must not stay in the conversation.
      if (this.#messages.length === before + 1) this.#messages.pop();
      throw error;
    } finally {
      this.#current = undefined;
      this.#keep();
    }
  }

  #keep(): void {
    const { memory, principal, folder } = this.#options;
    if (!this.#isKept || this.#messages.length === 0) return;
    const { id, model } = this;
    const messages = formatMessages(this.#messages);
    memory.keep(principal.id, { id, folder, model, title: titleOf(this.#messages), messages });
  }

  #turn(messages: readonly Message[], toolbox: Toolbox | undefined): Turn {
    const { principal, folder, capabilities } = this.#options;
    return {
      principal,
      model: { id: this.model, effort: undefined },
      system: `The user works in an editor; the project is in ${folder}. Paths are absolute.`,
      messages,
      tools: [...offeredTools(capabilities), ...(toolbox?.tools ?? [])],
      toolChoice: { type: "auto" },
      allowsParallelCalls: true,
      stop: [],
      maxOutputTokens: undefined,
      output: { type: "text" },
      showsActivity: true,
    };
  }

  #toolRunner(
    client: AgentContext,
    view: EventView,
    toolbox: Toolbox | undefined,
    elicit: Elicit | undefined,
  ): ToolRunner {
    const { folder } = this.#options;
    const update: EventView["update"] = (shown) => view.update(shown);
    return {
      run: (call, signal) => {
        const site = { client, sessionId: this.id, folder, signal, update };
        const allowed = this.#allowed;
        if (!toolbox?.tools.some(({ name }) => name === call.name)) return runEditorTool(call, site, allowed);
        return runServerTool(call, toolbox, site, { allowed, elicit });
      },
    };
  }

  /** Questions of tools are shown by the editor, if it can show forms. */
  #elicit(client: AgentContext): Elicit | undefined {
    if (!this.#options.capabilities.elicitation?.form) return undefined;
    return async ({ message, schema, url }) => {
      // Editors are asked for forms only, not to open a page.
      if (url !== undefined) return { action: "decline" };
      const answer = await client.request("elicitation/create", {
        sessionId: this.id,
        mode: "form",
        message,
        requestedSchema: schema as never,
      });
      if (answer.action !== "accept") return { action: answer.action === "cancel" ? "cancel" : "decline" };
      return { action: "accept", content: (answer["content"] ?? {}) as never };
    };
  }
}
