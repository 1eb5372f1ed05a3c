import type { Activity } from "../../core/activity.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { TextRenderer } from "../shared/face.ts";
import type { ComposerTurn } from "./composers.ts";
import { errorFields } from "./errors.ts";

const STOP_REASONS: Readonly<Record<DoneReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  "tool-calls": "end_turn",
  "content-filter": "refusal",
};

/** Renders the answer as lines of JSON. Clients ignore lines of unknown types. */
export class LineRenderer implements TextRenderer {
  readonly contentType = "application/x-ndjson; charset=utf-8";
  readonly keepAlive = '{"type":"heartbeat"}\n';
  readonly #turn: ComposerTurn;
  readonly #tools = new Set<string>();
  #seq = 0;
  #usage: Usage | undefined;

  constructor(turn: ComposerTurn) {
    this.#turn = turn;
  }

  step(events: readonly TurnEvent[]): string {
    let out = "";
    for (const event of events) out += this.#render(event);
    return out;
  }

  fail(error: ExcursorError, requestId: string): string {
    if (error.kind === "canceled") return this.#line({ type: "done", stopReason: "cancelled" });
    return this.#line({ type: "error", ...errorFields(error, requestId) });
  }

  #render(event: TurnEvent): string {
    switch (event.type) {
      case "text":
        this.#turn.say(event.text);
        return this.#line({ type: "text", content: event.text });
      case "thinking":
        return this.#line({ type: "thought", content: event.text });
      case "thinking-done":
        return this.#line({ type: "thought", content: "", durationMs: event.durationMs });
      case "activity":
        return this.#line(this.#show(event.activity));
      case "notice":
        return this.#line({ type: "notice", code: event.code, message: event.text });
      case "usage":
        this.#usage = event.usage;
        return "";
      case "done":
        return this.#line({
          type: "done",
          stopReason: STOP_REASONS[event.reason],
          ...(this.#usage && { usage: { ...this.#usage } }),
        });
      case "tool-call-start":
      case "tool-call-delta":
      case "tool-call":
        return "";
      default:
        return event satisfies never;
    }
  }

  #show(activity: Activity): JsonObject {
    switch (activity.type) {
      case "tool": {
        // The extension creates a new bubble only for `tool_call`.
        const sessionUpdate = this.#tools.has(activity.id) ? "tool_call_update" : "tool_call";
        this.#tools.add(activity.id);
        return { ...activity.detail, sessionUpdate, type: "tool" };
      }
      case "plan":
        return { type: "plan", entries: activity.entries };
      case "question": {
        this.#turn.ask(activity);
        const { id, title, options, detail } = activity;
        return {
          type: "permission",
          requestId: id,
          title,
          options: options.map((option) => ({ ...option })),
          toolCall: detail,
        };
      }
      default:
        return activity satisfies never;
    }
  }

  #line(line: JsonObject): string {
    return `${JSON.stringify({ ...line, seq: this.#seq++ })}\n`;
  }
}
