import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { kindOf } from "../../core/json/describe-value.ts";
import { jsonObject } from "../../wire/json.ts";
import { apiError } from "../shared/api/api-error.ts";
import { type ApiReaderOptions, usageOf } from "../shared/api/api-reader.ts";
import type { ApiReader } from "../shared/api/api-run.ts";
import {
  badEvent,
  type EventFields,
  indexIn,
  listIn,
  objectIn,
  readEvent,
  textIn,
  tokensIn,
} from "../shared/api/event-fields.ts";
import { type StreamedCall, StreamedCalls } from "../shared/api/streamed-calls.ts";

const REASONS: ReadonlyMap<string, DoneReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
]);

/** Converts the chunks of one completion to events. Lenient, since servers differ in details. */
export class ChunkReader implements ApiReader {
  readonly #options: ApiReaderOptions;
  readonly #now: () => number;
  readonly #streamed: StreamedCalls;
  readonly #calls = new Map<number, StreamedCall>();
  #lastIndex = -1;
  #thinkingSince: number | undefined;
  #usage: Usage | undefined;
  #reason: DoneReason | undefined;
  #isOver = false;

  constructor(options: ApiReaderOptions) {
    this.#options = options;
    this.#streamed = new StreamedCalls(options.toolName);
    this.#now = options.now ?? (() => performance.now());
  }

  read(_name: string, data: string): readonly TurnEvent[] {
    if (data === "[DONE]") return this.end();
    const chunk = readEvent(data);
    if (chunk["error"]) throw apiError(chunk, this.#options.host);
    this.#usage = countsIn(jsonObject<string>(chunk["usage"]) ?? {}) ?? this.#usage;
    const [first] = listIn(chunk, "choices");
    if (first === undefined) return [];
    const choice = jsonObject<string>(first);
    if (!choice) throw badEvent(`whose choice is ${kindOf(first)}`);
    const events = this.#delta(objectIn(choice, "delta"));
    const reason = textIn(choice, "finish_reason");
    if (reason !== "") this.#reason = REASONS.get(reason) ?? "stop";
    return events;
  }

  end(): readonly TurnEvent[] {
    if (this.#isOver || this.#reason === undefined) return [];
    this.#isOver = true;
    const events: TurnEvent[] = [...this.#endThinking()];
    for (const call of this.#calls.values()) events.push(call.end());
    if (this.#usage) events.push({ type: "usage", usage: this.#usage });
    return [...events, { type: "done", reason: this.#doneReason(this.#reason) }];
  }

  /** Corrects servers that report `stop` with tool calls, or the reverse. */
  #doneReason(reason: DoneReason): DoneReason {
    if (reason !== "stop" && reason !== "tool-calls") return reason;
    return this.#calls.size > 0 ? "tool-calls" : "stop";
  }

  #delta(delta: EventFields): readonly TurnEvent[] {
    const events: TurnEvent[] = [];
    // Some servers send the same in both fields.
    const thought = textIn(delta, "reasoning_content") || textIn(delta, "reasoning");
    if (thought !== "") {
      this.#thinkingSince ??= this.#now();
      events.push({ type: "thinking", text: thought });
    }
    const said = contentIn(delta) || textIn(delta, "refusal");
    if (said !== "") events.push(...this.#endThinking(), { type: "text", text: said });
    for (const call of listIn(delta, "tool_calls")) events.push(...this.#endThinking(), ...this.#callDelta(call));
    return events;
  }

  #callDelta(given: unknown): readonly TurnEvent[] {
    const delta = jsonObject<string>(given);
    if (!delta) throw badEvent(`whose tool call is ${kindOf(given)}`);
    const id = textIn(delta, "id");
    const index = indexIn(delta, "index") ?? (id || this.#lastIndex === -1 ? this.#lastIndex + 1 : this.#lastIndex);
    this.#lastIndex = index;
    const called = objectIn(delta, "function");
    const known = this.#calls.get(index);
    const call = known ?? this.#streamed.begin(id, textIn(called, "name"));
    this.#calls.set(index, call);
    return [...(known ? [] : [call.start()]), ...call.add(textIn(called, "arguments"))];
  }

  #endThinking(): readonly TurnEvent[] {
    if (this.#thinkingSince === undefined) return [];
    const durationMs = Math.round(this.#now() - this.#thinkingSince);
    this.#thinkingSince = undefined;
    return [{ type: "thinking-done", durationMs }];
  }
}

/** Returns the text, also from servers that send it as parts. Other parts are ignored. */
function contentIn(delta: EventFields): string {
  if (!Array.isArray(delta["content"])) return textIn(delta, "content");
  return delta["content"]
    .map((part) => jsonObject<"text">(part)?.text)
    .filter((text) => typeof text === "string")
    .join("");
}

function countsIn(usage: EventFields): Usage | undefined {
  const detail = (name: string, inner: string) => tokensIn(jsonObject<string>(usage[name]) ?? {}, inner);
  return usageOf({
    input: tokensIn(usage, "prompt_tokens"),
    output: tokensIn(usage, "completion_tokens"),
    cached: detail("prompt_tokens_details", "cached_tokens"),
    reasoning: detail("completion_tokens_details", "reasoning_tokens"),
  });
}
