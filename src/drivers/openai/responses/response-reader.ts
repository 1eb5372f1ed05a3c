import type { DoneReason, TurnEvent } from "../../../core/events.ts";
import type { JsonObject } from "../../../core/turn.ts";
import { jsonObject } from "../../../wire/json.ts";
import { apiError } from "../../shared/api/api-error.ts";
import { type ApiReaderOptions, usageOf } from "../../shared/api/api-reader.ts";
import type { ApiReader } from "../../shared/api/api-run.ts";
import { type EventFields, indexIn, objectIn, readEvent, textIn, tokensIn } from "../../shared/api/event-fields.ts";
import { type StreamedCall, StreamedCalls } from "../../shared/api/streamed-calls.ts";
import { signatureOf } from "./reasoning-item.ts";

const INCOMPLETE: ReadonlyMap<string, DoneReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "content-filter"],
]);

/** Converts the events of one response. Unknown events and items of hosted tools are ignored. */
export class ResponseReader implements ApiReader {
  readonly #options: ApiReaderOptions;
  readonly #now: () => number;
  readonly #streamed: StreamedCalls;
  /** By output index. */
  readonly #calls = new Map<number, StreamedCall>();
  #thinkingSince: number | undefined;
  #hasThought = false;
  #isOver = false;

  constructor(options: ApiReaderOptions) {
    this.#options = options;
    this.#streamed = new StreamedCalls(options.toolName);
    this.#now = options.now ?? (() => performance.now());
  }

  read(_name: string, data: string): readonly TurnEvent[] {
    if (this.#isOver || data === "[DONE]") return [];
    const event = readEvent(data);
    switch (event["type"]) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return said("text", textIn(event, "delta"));
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.#think(textIn(event, "delta"));
      case "response.reasoning_summary_part.added":
        return this.#hasThought ? this.#think("\n\n") : [];
      case "response.output_item.added":
        return this.#begin(indexIn(event, "output_index") ?? 0, objectIn(event, "item"));
      case "response.function_call_arguments.delta":
        return this.#calls.get(indexIn(event, "output_index") ?? 0)?.add(textIn(event, "delta")) ?? [];
      case "response.output_item.done":
        return this.#close(indexIn(event, "output_index") ?? 0, objectIn(event, "item"));
      case "response.completed":
      case "response.incomplete":
        return this.#finish(objectIn(event, "response"));
      case "response.failed":
        throw apiError(objectIn(event, "response"), this.#options.host);
      case "error":
        // OpenAI has the fields in the event itself, compatible servers also in `error`.
        throw apiError(event["error"] ? event : { error: { ...event, type: "" } }, this.#options.host);
      default:
        return [];
    }
  }

  /** The answer ends with its own event; without it, it broke off. */
  end(): readonly TurnEvent[] {
    return [];
  }

  #think(text: string): readonly TurnEvent[] {
    this.#thinkingSince ??= this.#now();
    this.#hasThought ||= text !== "";
    return said("thinking", text);
  }

  #begin(index: number, item: EventFields): readonly TurnEvent[] {
    if (item["type"] === "reasoning") this.#thinkingSince ??= this.#now();
    if (item["type"] !== "function_call") return [];
    const call = this.#streamed.begin(textIn(item, "call_id"), textIn(item, "name"));
    this.#calls.set(index, call);
    return [call.start(), ...call.add(textIn(item, "arguments"))];
  }

  #close(index: number, item: EventFields): readonly TurnEvent[] {
    if (item["type"] === "reasoning") return this.#endThinking(item as JsonObject);
    if (item["type"] !== "function_call") return [];
    const known = this.#calls.get(index);
    this.#calls.delete(index);
    if (known) return [known.end(textIn(item, "arguments"))];
    const call = this.#streamed.begin(textIn(item, "call_id"), textIn(item, "name"));
    return [call.start(), call.end(textIn(item, "arguments"))];
  }

  #endThinking(item: JsonObject): readonly TurnEvent[] {
    const durationMs = Math.round(this.#now() - (this.#thinkingSince ?? this.#now()));
    this.#thinkingSince = undefined;
    const hasThought = this.#hasThought;
    this.#hasThought = false;
    const signature = signatureOf(item);
    if (!hasThought && signature === undefined) return [];
    return [{ type: "thinking-done", durationMs, ...(signature !== undefined && { signature }) }];
  }

  #finish(response: EventFields): readonly TurnEvent[] {
    this.#isOver = true;
    const usage = jsonObject<string>(response["usage"]) ?? {};
    const detail = (name: string, inner: string) => tokensIn(jsonObject<string>(usage[name]) ?? {}, inner);
    const counts = usageOf({
      input: tokensIn(usage, "input_tokens"),
      output: tokensIn(usage, "output_tokens"),
      cached: detail("input_tokens_details", "cached_tokens"),
      reasoning: detail("output_tokens_details", "reasoning_tokens"),
    });
    const incomplete = INCOMPLETE.get(textIn(objectIn(response, "incomplete_details"), "reason"));
    const reason = incomplete ?? (this.#streamed.size > 0 ? "tool-calls" : "stop");
    return [...(counts ? [{ type: "usage", usage: counts } as const] : []), { type: "done", reason }];
  }
}

const said = (type: "text" | "thinking", text: string): readonly TurnEvent[] => (text === "" ? [] : [{ type, text }]);
