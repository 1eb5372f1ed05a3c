import { randomUUID } from "node:crypto";
import type { AgentContext, ClientCapabilities, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import type { Engine } from "../../core/engine/engine.ts";
import type { DoneReason } from "../../core/events.ts";
import type { KeptSessions } from "../../core/history/kept-sessions.ts";
import type { Elicit, Toolbox } from "../../core/hub/tool-hub.ts";
import type { AssistantPart, Message, Principal, ToolCallPart, ToolMessage, Turn } from "../../core/turn.ts";
import type { Allowed } from "./ask-leave.ts";
import { offeredTools, runEditorTool } from "./editor-tools.ts";
import { formatMessages, titleOf } from "./kept-messages.ts";
import { promptMessage } from "./prompt-message.ts";
import { type EditorServers, runServerTool } from "./server-tools.ts";
import { EventView } from "./show-events.ts";

export interface SessionOptions {
  readonly engine: Pick<Engine, "run">;
  readonly principal: Principal;
  readonly model: string;
  readonly folder: string;
  readonly capabilities: ClientCapabilities;
  /** What the editor wants the model to use beside its own tools. */
  readonly servers?: EditorServers | undefined;
  readonly memory: KeptSessions;
  /** What was said before, and under which id. */
  readonly kept?: { readonly id: string; readonly messages: readonly Message[] } | undefined;
}

/** Rounds of tools in one turn; more is a model that runs in a circle. */
const MAX_ROUNDS = 200;

const STOP_REASONS: Readonly<Record<DoneReason, StopReason>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "end_turn",
};

/** One conversation in an editor: the model's answers, and the editor's files and terminals for its tools. */
export class Session {
  readonly id: string;
  model: string;
  readonly #options: SessionOptions;
  readonly #messages: Message[];
  readonly #allowed: Allowed = new Set();
  #current: AbortController | undefined;
  #toolbox: Toolbox | undefined;
  #isKept = true;

  constructor(options: SessionOptions) {
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

  /** Stops what is under way, and ends the servers that were started for it. */
  async close(): Promise<void> {
    this.cancel();
    await this.#options.servers?.close();
  }

  /** The same for one that was deleted, or goes on elsewhere: what is still under way here is not kept any more. */
  async drop(): Promise<void> {
    this.#isKept = false;
    await this.close();
  }

  /** One turn, with as many rounds of tools as the model wants. */
  async prompt(blocks: readonly ContentBlock[], client: AgentContext): Promise<StopReason> {
    const abort = new AbortController();
    this.#current = abort;
    const before = this.#messages.length;
    this.#messages.push(promptMessage(blocks));
    try {
      this.#toolbox = await this.#options.servers?.open(this.#options.principal, abort.signal);
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const { reason, calls } = await this.#ask(client, abort.signal);
        if (reason === "tool-calls") await this.#runTools(calls, client, abort.signal);
        if (abort.signal.aborted) return "cancelled";
        if (reason !== "tool-calls") return STOP_REASONS[reason];
      }
      return "max_turn_requests";
    } catch (error) {
      if (abort.signal.aborted) return "cancelled";
      // What failed may be asked again; a question that nobody answered would only be in its way.
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

  async #ask(
    client: AgentContext,
    signal: AbortSignal,
  ): Promise<{ readonly reason: DoneReason; readonly calls: readonly ToolCallPart[] }> {
    const { engine } = this.#options;
    const view = new EventView(client, this.id);
    const calls: ToolCallPart[] = [];
    let said = "";
    let reason: DoneReason = "stop";
    const context = { requestId: randomUUID(), signal, elicit: this.#elicit(client) };
    try {
      for await (const events of engine.run(this.#turn(), context)) {
        for (const event of events) {
          if (event.type === "text") said += event.text;
          else if (event.type === "tool-call") calls.push(event);
          else if (event.type === "done") reason = event.reason;
          await view.show(event);
        }
      }
    } finally {
      // Calls of an answer that broke off are never run: they are no part of it.
      const isWhole = reason === "tool-calls";
      const content: AssistantPart[] = [
        ...(said === "" ? [] : [{ type: "text", text: said } as const]),
        ...(isWhole ? calls : []),
      ];
      if (content.length > 0) this.#messages.push({ role: "assistant", content });
    }
    return { reason, calls };
  }

  #turn(): Turn {
    const { principal, folder, capabilities } = this.#options;
    return {
      principal,
      model: { id: this.model, effort: undefined },
      system: `The user works in an editor; the project is in ${folder}. Paths are absolute.`,
      messages: [...this.#messages],
      tools: [...offeredTools(capabilities), ...(this.#toolbox?.tools ?? [])],
      toolChoice: { type: "auto" },
      allowsParallelCalls: true,
      stop: [],
      maxOutputTokens: undefined,
      output: { type: "text" },
      showsActivity: true,
    };
  }

  /** One after the other: the user may be asked about each. After a cancel the rest is answered for. */
  async #runTools(calls: readonly ToolCallPart[], client: AgentContext, signal: AbortSignal): Promise<void> {
    const view = new EventView(client, this.id);
    const { folder } = this.#options;
    const site = {
      client,
      sessionId: this.id,
      folder,
      signal,
      update: (update: Parameters<EventView["update"]>[0]) => view.update(update),
    };
    const run = ({ id, name, args }: ToolCallPart): Promise<ToolMessage> => {
      const call = { type: "tool-call", id, name, args } as const;
      const box = this.#toolbox;
      if (!box?.tools.some((tool) => tool.name === name)) return runEditorTool(call, site, this.#allowed);
      return runServerTool(call, box, site, { allowed: this.#allowed, elicit: this.#elicit(client) });
    };
    for (const call of calls) {
      this.#messages.push(
        signal.aborted
          ? { role: "tool", callId: call.id, content: [{ type: "text", text: "Cancelled." }], isError: true }
          : await run(call),
      );
    }
  }

  /** Questions of tools that we run for the model go to the user, if the editor can show them. */
  #elicit(client: AgentContext): Elicit | undefined {
    if (!this.#options.capabilities.elicitation?.form) return undefined;
    return async ({ message, schema, url }) => {
      // A page is not a form, and editors are asked for forms alone.
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
