import type { ChatCompletionChunk, ChatCompletionMessageCustomToolCall } from "openai/resources/chat/completions";
import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { TextRenderer } from "../shared/face.ts";
import type { Official } from "../shared/official.ts";
import { type CompletionHead, finishReason } from "../shared/openai/chat-completion.ts";
import { usageObject } from "../shared/openai/openai-usage.ts";
import { freeText, type ThinkingOptions } from "./answer.ts";
import { errorObject } from "./errors.ts";
import { ThinkingWriter } from "./thinking/thinking-writer.ts";

export interface RenderOptions {
  readonly includesUsage: boolean;
  readonly thinking: ThinkingOptions;
  /** The names of tools that take free text instead of JSON. */
  readonly customTools: ReadonlySet<string>;
}

const TIER = { service_tier: "default" } as const;

type Choice = Official<ChatCompletionChunk.Choice>;

/** The official type has calls of custom tools in whole answers alone; in a stream they are the same, for clients of our own. */
interface CustomCall {
  readonly tool_calls: readonly (Official<ChatCompletionMessageCustomToolCall> & { readonly index: number })[];
}

interface StartedCall {
  readonly index: number;
  /** True if part of the arguments was sent as a delta; the rest follows as deltas. */
  hasStreamed: boolean;
}

/**
 * Renders events as `chat.completion.chunk`s. The constant text of a chunk is built once per stream, so a token costs
 * one `JSON.stringify` and one concatenation.
 */
export class ChunkRenderer implements TextRenderer {
  readonly #head: CompletionHead;
  readonly #includesUsage: boolean;
  readonly #beforeText: string;
  readonly #afterText: string;
  readonly #thinker: ThinkingWriter;
  readonly #customTools: ReadonlySet<string>;
  readonly #beforeDelta: string;
  readonly #afterDelta: string;
  #calls: Map<string, StartedCall> | undefined;
  #usage: Usage | undefined;
  #hasBegun = false;

  constructor(head: CompletionHead, { includesUsage, thinking, customTools }: RenderOptions) {
    this.#head = head;
    this.#includesUsage = includesUsage;
    this.#thinker = new ThinkingWriter(thinking);
    this.#customTools = customTools;
    const chunk = JSON.stringify(this.#chunk([{ index: 0, delta: {}, finish_reason: null }]));
    const at = chunk.lastIndexOf("{}");
    this.#beforeDelta = `data: ${chunk.slice(0, at)}`;
    this.#afterDelta = `${chunk.slice(at + 2)}\n\n`;
    this.#beforeText = `${this.#beforeDelta}{"content":`;
    this.#afterText = `}${this.#afterDelta}`;
  }

  step(events: readonly TurnEvent[]): string {
    let out = "";
    for (const event of events) out += this.#render(event);
    if (this.#hasBegun || out === "") return out;
    this.#hasBegun = true;
    return this.#delta({ role: "assistant", content: "", refusal: null }) + out;
  }

  fail(error: ExcursorError, requestId: string): string {
    return `${this.#content(this.#thinker.close())}data: ${JSON.stringify(errorObject(error, requestId))}\n\n`;
  }

  #render(event: TurnEvent): string {
    const before = this.#thinker.textBefore(event);
    return before === "" ? this.#renderAlone(event) : this.#content(before) + this.#renderAlone(event);
  }

  #renderAlone(event: TurnEvent): string {
    switch (event.type) {
      case "text":
        return this.#beforeText + JSON.stringify(event.text) + this.#afterText;
      case "thinking":
        return this.#renderThinking(event.text);
      case "tool-call-start":
        return this.#customTools.has(event.name) ? "" : this.#startCall(event.id, event.name, "");
      case "tool-call-delta":
        return this.#continueCall(event.id, event.json);
      case "tool-call":
        if (this.#customTools.has(event.name)) return this.#customCall(event);
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

  #renderThinking(text: string): string {
    if (this.#thinker.place === "nowhere") return "";
    const json = JSON.stringify(text);
    if (this.#thinker.place === "text") return this.#beforeText + json + this.#afterText;
    // Clients know one field or the other; those that know both read only one.
    return `${this.#beforeDelta}{"reasoning_content":${json},"reasoning":${json}${this.#afterText}`;
  }

  #content(text: string): string {
    return text === "" ? "" : this.#beforeText + JSON.stringify(text) + this.#afterText;
  }

  #startCall(id: string, name: string, json: string): string {
    const index = this.#begin(id, json !== "");
    return this.#delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: json } }] });
  }

  /** Returns the index of the call within the answer. */
  #begin(id: string, hasStreamed: boolean): number {
    this.#calls ??= new Map();
    const index = this.#calls.size;
    this.#calls.set(id, { index, hasStreamed });
    return index;
  }

  /** Drops deltas of a call that has not started; the whole call follows. */
  #continueCall(id: string, json: string): string {
    const call = this.#calls?.get(id);
    if (!call || json === "") return "";
    call.hasStreamed = true;
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: json } }] });
  }

  #completeCall(id: string, name: string, json: string): string {
    const call = this.#calls?.get(id);
    if (!call) return this.#startCall(id, name, json);
    return call.hasStreamed ? "" : this.#continueCall(id, json);
  }

  /** Free text is not streamed: it is inside JSON, which is complete only at the end. */
  #customCall({ id, name, args }: Extract<TurnEvent, { type: "tool-call" }>): string {
    const index = this.#begin(id, true);
    return this.#delta({ tool_calls: [{ index, id, type: "custom", custom: { name, input: freeText(args) } }] });
  }

  #end(reason: DoneReason): string {
    const choice = { index: 0, delta: {}, logprobs: null, finish_reason: finishReason(reason) };
    const finish = this.#chunk([choice], true);
    const usage =
      this.#includesUsage && this.#usage
        ? `data: ${JSON.stringify({ ...this.#chunk([], true), usage: usageObject(this.#usage) })}\n\n`
        : "";
    return `data: ${JSON.stringify(finish)}\n\n${usage}data: [DONE]\n\n`;
  }

  #delta(delta: Choice["delta"] | CustomCall): string {
    return this.#beforeDelta + JSON.stringify(delta) + this.#afterDelta;
  }

  /** Constants that the service repeats in every chunk are at the end alone: no token costs bytes for them. */
  #chunk(choices: readonly Choice[], isEnd = false): Official<ChatCompletionChunk> {
    const { id, created, model } = this.#head;
    const chunk = { id, object: "chat.completion.chunk", created, model, choices, ...(isEnd && TIER) } as const;
    return this.#includesUsage ? { ...chunk, usage: null } : chunk;
  }
}
