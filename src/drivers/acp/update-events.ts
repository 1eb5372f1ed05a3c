import { BoundedMap } from "../../core/bounded-map.ts";
import type { TurnEvent } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AgentUpdate } from "./read-update.ts";

type ToolUpdate = Extract<AgentUpdate, { readonly toolCallId: string }>;

const STATUS = { pending: "pending", in_progress: "running", completed: "completed", failed: "failed" } as const;

const MAX_TOOLS = 1000;
const MAX_TITLE_CHARS = 1000;
const MAX_PLAN_ENTRIES = 100;

/** Converts the updates of one turn to events. Tools become activity, or lines of thinking. */
export class UpdateEvents {
  readonly #showsActivity: boolean;
  readonly #now: () => number;
  /** The merged updates of each tool. Updates are partial, and may precede the call. */
  readonly #tools = new BoundedMap<string, JsonObject>(MAX_TOOLS);
  /** The entries of the last plan, as shown. */
  #plan: readonly string[] = [];
  #isThinking = false;
  #thinkingSince: number | undefined;
  /** Earlier thinking time of this block. Tools and questions do not count. */
  #thoughtMs = 0;
  #endsLine = true;
  /** True if tools have run since the last text: the next text starts a paragraph. */
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
        return this.#hearThought(update.content.text ?? "");
      case "tool_call":
      case "tool_call_update":
        return this.#showTool(update);
      case "plan":
        return this.#showPlan(update.entries as JsonObject[]);
      case "available_commands_update":
        return [];
      default:
        return update satisfies never;
    }
  }

  end(): readonly TurnEvent[] {
    if (!this.#isThinking) return [];
    this.#pause();
    const durationMs = Math.round(this.#thoughtMs);
    this.#isThinking = false;
    this.#thoughtMs = 0;
    return [{ type: "thinking-done", durationMs }];
  }

  /** Called when a tool or a question begins. Ends the block of thinking if the client shows activity. */
  interrupt(): readonly TurnEvent[] {
    this.#pause();
    return this.#showsActivity ? this.end() : [];
  }

  #pause(): void {
    if (this.#thinkingSince !== undefined) this.#thoughtMs += this.#now() - this.#thinkingSince;
    this.#thinkingSince = undefined;
  }

  #say(text: string): readonly TurnEvent[] {
    if (text === "") return [];
    const gap = this.#isNewParagraph && !this.#endsLine ? "\n\n" : "";
    this.#isNewParagraph = false;
    this.#endsLine = text.endsWith("\n");
    return [...this.end(), { type: "text", text: gap + text }];
  }

  #hearThought(text: string): readonly TurnEvent[] {
    if (text !== "") this.#thinkingSince ??= this.#now();
    return this.#think(text);
  }

  #think(text: string): readonly TurnEvent[] {
    if (text === "") return [];
    this.#isThinking = true;
    return [{ type: "thinking", text }];
  }

  /** Agents send the whole plan each time. It is shown once, and then only the changes. */
  #showPlan(entries: readonly JsonObject[]): readonly TurnEvent[] {
    const events = this.interrupt();
    if (this.#showsActivity) return [...events, { type: "activity", activity: { type: "plan", entries } }];
    const lines = entries.slice(0, MAX_PLAN_ENTRIES).map(planLine);
    const fresh = lines.filter((line) => !this.#plan.includes(line));
    this.#plan = lines;
    return fresh.length === 0 ? [] : this.#think(`[Plan]\n${fresh.join("")}`);
  }

  #showTool({ sessionUpdate: _, ...update }: ToolUpdate): readonly TurnEvent[] {
    const before = this.#tools.get(update.toolCallId);
    const known = Object.entries(update).filter(([, value]) => value !== null && value !== undefined);
    const detail = { ...before, ...Object.fromEntries(known) } as JsonObject;
    this.#tools.set(update.toolCallId, detail);
    const title = typeof detail["title"] === "string" ? detail["title"].slice(0, MAX_TITLE_CHARS) : "";
    const interruption = before ? [] : this.interrupt();
    const status = STATUS[(detail["status"] as keyof typeof STATUS | undefined) ?? "pending"];
    if (this.#showsActivity) {
      return [
        ...interruption,
        { type: "activity", activity: { type: "tool", id: update.toolCallId, title, status, detail } },
      ];
    }
    this.#isNewParagraph = true;
    if (title === "") return [];
    if (typeof before?.["title"] !== "string") return this.#think(`[${title}]\n`);
    const hasFailed = status === "failed" && before["status"] !== "failed";
    return hasFailed ? this.#think(`[${title}: failed]\n`) : [];
  }
}

const planLine = ({ content, status }: JsonObject): string => {
  const mark = status === "completed" ? "x" : status === "in_progress" ? ">" : " ";
  return `- [${mark}] ${typeof content === "string" ? content.slice(0, MAX_TITLE_CHARS) : ""}\n`;
};
