import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonValue } from "../../core/turn.ts";
import type { StreamRenderer } from "../face.ts";
import { inOnePiece } from "../in-one-piece.ts";
import { errorObject } from "../openai-errors.ts";
import { type AnswerHead, finishReason, type ReasoningField } from "./answer.ts";
import { usageObject } from "./usage.ts";

export interface RenderOptions {
  readonly includesUsage: boolean;
  readonly reasoningField: ReasoningField;
}

interface StartedCall {
  readonly index: number;
  /** Some of its arguments have gone out; the rest comes the same way. */
  hasStreamed: boolean;
}

/**
 * Events as `chat.completion.chunk`s. All that is the same in every chunk is written out once per stream: a token
 * costs one `JSON.stringify` of its text and one concatenation.
 */
export class ChunkRenderer implements StreamRenderer {
  readonly #head: AnswerHead;
  readonly #includesUsage: boolean;
  readonly #beforeText: string;
  readonly #afterText: string;
  readonly #beforeThinking: string;
  readonly #beforeDelta: string;
  readonly #afterDelta: string;
  readonly #calls = new Map<string, StartedCall>();
  #usage: Usage | undefined;
  #hasBegun = false;

  constructor(head: AnswerHead, { includesUsage, reasoningField }: RenderOptions) {
    this.#head = head;
    this.#includesUsage = includesUsage;
    const chunk = JSON.stringify(this.#chunk([{ index: 0, delta: "@", finish_reason: null }]));
    const at = chunk.lastIndexOf('"@"');
    this.#beforeDelta = inOnePiece(`data: ${chunk.slice(0, at)}`);
    this.#afterDelta = inOnePiece(`${chunk.slice(at + 3)}\n\n`);
    this.#beforeText = inOnePiece(`${this.#beforeDelta}{"content":`);
    this.#beforeThinking = inOnePiece(`${this.#beforeDelta}{"${reasoningField}":`);
    this.#afterText = inOnePiece(`}${this.#afterDelta}`);
  }

  step(events: readonly TurnEvent[]): string {
    let out = "";
    for (const event of events) out += this.#render(event);
    if (this.#hasBegun || out === "") return out;
    this.#hasBegun = true;
    return this.#delta({ role: "assistant", content: "" }) + out;
  }

  fail(error: ExcursorError, requestId: string): string {
    return `data: ${JSON.stringify(errorObject(error, requestId))}\n\n`;
  }

  #render(event: TurnEvent): string {
    switch (event.type) {
      case "text":
        return this.#beforeText + JSON.stringify(event.text) + this.#afterText;
      case "thinking":
        return this.#beforeThinking + JSON.stringify(event.text) + this.#afterText;
      case "tool-call-start":
        return this.#startCall(event.id, event.name, "");
      case "tool-call-delta":
        return this.#continueCall(event.id, event.json);
      case "tool-call":
        return this.#completeCall(event.id, event.name, JSON.stringify(event.args));
      case "usage":
        this.#usage = event.usage;
        return "";
      case "done":
        return this.#end(event.reason);
      case "thinking-done":
      case "activity":
      case "notice":
        return "";
      default:
        return event satisfies never;
    }
  }

  #startCall(id: string, name: string, json: string): string {
    const index = this.#calls.size;
    this.#calls.set(id, { index, hasStreamed: json !== "" });
    return this.#delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: json } }] });
  }

  /** Without its start there is nowhere to put it: the whole call will bring it. */
  #continueCall(id: string, json: string): string {
    const call = this.#calls.get(id);
    if (!call || json === "") return "";
    call.hasStreamed = true;
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: json } }] });
  }

  #completeCall(id: string, name: string, json: string): string {
    const call = this.#calls.get(id);
    if (!call) return this.#startCall(id, name, json);
    return call.hasStreamed ? "" : this.#continueCall(id, json);
  }

  #end(reason: DoneReason): string {
    const finish = this.#chunk([{ index: 0, delta: {}, finish_reason: finishReason(reason) }]);
    const usage =
      this.#includesUsage && this.#usage
        ? `data: ${JSON.stringify({ ...this.#chunk([]), usage: usageObject(this.#usage) })}\n\n`
        : "";
    return `data: ${JSON.stringify(finish)}\n\n${usage}data: [DONE]\n\n`;
  }

  #delta(delta: JsonValue): string {
    return this.#beforeDelta + JSON.stringify(delta) + this.#afterDelta;
  }

  #chunk(choices: readonly JsonValue[]) {
    const { id, created, model } = this.#head;
    const chunk = { id, object: "chat.completion.chunk", created, model, choices } as const;
    return this.#includesUsage ? { ...chunk, usage: null } : chunk;
  }
}
