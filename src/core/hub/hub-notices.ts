import type { TurnEvent } from "../events.ts";
import type { JsonObject } from "../turn.ts";
import type { HubProgress } from "./tool-hub.ts";

/** The codes of notices about hub calls. An answer may have many of them. */
export const HUB_NOTICES: ReadonlySet<string> = new Set(["tool_call", "tool_progress"]);

export type HubOutcome = "ok" | "error" | "canceled";

/**
 * Reports hub calls to the client while they run: as activity events if the client shows those, else as notices. If the
 * client reads slowly, only the latest progress of a call is kept.
 */
export class HubNotices {
  readonly #showsActivity: boolean;
  readonly #waiting = new Map<string, TurnEvent>();
  #wake: () => void = () => {};

  constructor(showsActivity: boolean) {
    this.#showsActivity = showsActivity;
  }

  started(callId: string, tool: string): void {
    this.#add(`${callId} started`, callId, tool, "started", "tool_call", { status: "in_progress", kind: "other" });
  }

  progress(callId: string, tool: string, { done, total, message }: HubProgress): void {
    const share = total === undefined ? String(done) : `${done}/${total}`;
    const text = [share, message].filter(Boolean).join(" ");
    const content = [{ type: "content", content: { type: "text", text } }];
    this.#add(`${callId} progress`, callId, tool, text, "tool_progress", { status: "in_progress", content });
  }

  finished(callId: string, tool: string, outcome: HubOutcome, ms: number): void {
    const text = `${outcome === "ok" ? "done" : outcome === "error" ? "failed" : "cancelled"} after ${Math.round(ms)} ms`;
    const status = outcome === "ok" ? "completed" : "failed";
    this.#add(`${callId} finished`, callId, tool, text, "tool_call", { status });
  }

  /** Yields notices until the work has settled. Its caller awaits the work itself, and gets its failure. */
  async *until(work: Promise<unknown>): AsyncGenerator<readonly TurnEvent[], void, undefined> {
    let isOver = false;
    const over = work
      .catch(() => {})
      .then(() => {
        isOver = true;
      });
    for (;;) {
      const added = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#waiting.size === 0 && !isOver) await Promise.race([added, over]);
      const notices = [...this.#waiting.values()];
      this.#waiting.clear();
      if (notices.length > 0) yield notices;
      if (isOver && this.#waiting.size === 0) return;
    }
  }

  #add(key: string, callId: string, tool: string, text: string, code: string, detail: JsonObject): void {
    this.#waiting.set(key, this.#showsActivity ? activity(callId, tool, detail) : notice(code, `${tool}: ${text}`));
    this.#wake();
  }
}

const notice = (code: string, text: string): TurnEvent => ({ type: "notice", code, text });

/** `detail` is in ACP's form. */
function activity(id: string, title: string, detail: JsonObject): TurnEvent {
  const status =
    detail["status"] === "in_progress" ? "running" : detail["status"] === "completed" ? "completed" : "failed";
  return {
    type: "activity",
    activity: { type: "tool", id, title, status, detail: { toolCallId: id, title, ...detail } },
  };
}
