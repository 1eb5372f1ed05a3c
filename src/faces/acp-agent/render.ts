import type {
  AgentContext,
  ContentBlock,
  RequestPermissionRequest,
  SessionUpdate,
  ToolCall,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type { Question, ToolActivity } from "../../core/activity.ts";
import type { TurnEvent } from "../../core/events.ts";

/** Shows an answer in the editor, event by event. Tool calls are shown by the tool runner. */
export class EventView {
  readonly #client: AgentContext;
  readonly #sessionId: string;
  readonly #shown = new Set<string>();

  constructor(client: AgentContext, sessionId: string) {
    this.#client = client;
    this.#sessionId = sessionId;
  }

  async show(events: readonly TurnEvent[]): Promise<void> {
    for (const event of events) await this.#show(event);
  }

  async #show(event: TurnEvent): Promise<void> {
    switch (event.type) {
      case "text":
        return this.update({ sessionUpdate: "agent_message_chunk", content: text(event.text) });
      case "thinking":
        return this.update({ sessionUpdate: "agent_thought_chunk", content: text(event.text) });
      case "activity":
        if (event.activity.type === "tool") return this.#showTool(event.activity);
        if (event.activity.type === "question") {
          // Not awaited: other events are shown while the user decides.
          void this.#ask(event.activity);
          return;
        }
        return this.update({ sessionUpdate: "plan", entries: event.activity.entries as never });
      default:
        return;
    }
  }

  update(update: SessionUpdate): Promise<void> {
    return this.#client.notify("session/update", { sessionId: this.#sessionId, update });
  }

  /** `detail` is a tool call in ACP's form already. */
  #showTool({ id, title, detail }: ToolActivity): Promise<void> {
    const isNew = !this.#shown.has(id);
    this.#shown.add(id);
    if (isNew) return this.update({ sessionUpdate: "tool_call", ...(detail as unknown as ToolCall), title });
    return this.update({ sessionUpdate: "tool_call_update", ...(detail as unknown as ToolCallUpdate) });
  }

  async #ask({ options, detail, answer }: Question): Promise<void> {
    const request: RequestPermissionRequest = {
      sessionId: this.#sessionId,
      toolCall: detail as unknown as ToolCallUpdate,
      options: options.map(({ id, name, kind }) => ({ optionId: id, name, kind })),
    };
    try {
      const { outcome } = await this.#client.request("session/request_permission", request);
      answer(outcome.outcome === "selected" ? outcome.optionId : undefined);
    } catch {
      answer(undefined);
    }
  }
}

const text = (words: string): ContentBlock => ({ type: "text", text: words });
