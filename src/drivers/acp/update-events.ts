import type { TurnEvent } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AgentUpdate } from "./read-update.ts";

type ToolUpdate = Extract<AgentUpdate, { readonly toolCallId: string }>;

const STATUS = { pending: "pending", in_progress: "running", completed: "completed", failed: "failed" } as const;

/** The updates of one turn as events. Tools are shown as activity, or as lines of thinking where nobody can show that. */
export class UpdateEvents {
  readonly #showsActivity: boolean;
  readonly #now: () => number;
  /** All that was said of each tool; updates are partial, and one may come before the call. */
  readonly #tools = new Map<string, JsonObject>();
  #thinkingSince: number | undefined;
  #endsLine = true;
  /** Tools have run since the agent last spoke: what follows is another paragraph. */
  #isNewParagraph = false;

  constructor(showsActivity: boolean, now: () => number = () => performance.now()) {
    this.#showsActivity = showsActivity;
    this.#now = now;
  }

  step(update: AgentUpdate): readonly TurnEvent[] {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#say(update.content.text ?? "");
      case "agent_thought_chunk":
        return this.#think(update.content.text ?? "");
      case "tool_call":
      case "tool_call_update":
        return this.#showTool(update);
      case "plan": {
        const entries = update.entries as JsonObject[];
        return this.#showsActivity ? [{ type: "activity", activity: { type: "plan", entries } }] : [];
      }
      case "available_commands_update":
        return [];
      default:
        return update satisfies never;
    }
  }

  /** What is still open is closed. */
  end(): readonly TurnEvent[] {
    if (this.#thinkingSince === undefined) return [];
    const durationMs = Math.round(this.#now() - this.#thinkingSince);
    this.#thinkingSince = undefined;
    return [{ type: "thinking-done", durationMs }];
  }

  #say(text: string): readonly TurnEvent[] {
    if (text === "") return [];
    const gap = this.#isNewParagraph && !this.#endsLine ? "\n\n" : "";
    this.#isNewParagraph = false;
    this.#endsLine = text.endsWith("\n");
    return [...this.end(), { type: "text", text: gap + text }];
  }

  #think(text: string): readonly TurnEvent[] {
    if (text === "") return [];
    this.#thinkingSince ??= this.#now();
    return [{ type: "thinking", text }];
  }

  #showTool({ sessionUpdate: _, ...update }: ToolUpdate): readonly TurnEvent[] {
    const before = this.#tools.get(update.toolCallId);
    const known = Object.entries(update).filter(([, value]) => value !== null && value !== undefined);
    const detail = { ...before, ...Object.fromEntries(known) } as JsonObject;
    this.#tools.set(update.toolCallId, detail);
    const title = typeof detail["title"] === "string" ? detail["title"] : "";
    const status = STATUS[(detail["status"] as keyof typeof STATUS | undefined) ?? "pending"];
    if (this.#showsActivity) {
      return [{ type: "activity", activity: { type: "tool", id: update.toolCallId, title, status, detail } }];
    }
    this.#isNewParagraph = true;
    if (title === "") return [];
    if (typeof before?.["title"] !== "string") return this.#think(`[${title}]\n`);
    const hasFailed = status === "failed" && before["status"] !== "failed";
    return hasFailed ? this.#think(`[${title}: failed]\n`) : [];
  }
}
