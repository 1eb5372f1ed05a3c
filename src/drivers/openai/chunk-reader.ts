import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { kindOf } from "../../core/json/describe-value.ts";
import { jsonObject } from "../../wire/json.ts";
import { apiError } from "../shared/api-error.ts";
import type { ApiReaderOptions } from "../shared/api-reader.ts";
import type { ApiReader } from "../shared/api-run.ts";
import { CallArguments } from "../shared/call-arguments.ts";
import { CallIds } from "../shared/call-ids.ts";
import {
  badEvent,
  type EventFields,
  indexIn,
  listIn,
  objectIn,
  readEvent,
  textIn,
  tokensIn,
} from "../shared/event-fields.ts";

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: CallArguments;
}

const REASONS: ReadonlyMap<string, DoneReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
]);

/** The chunks of one completion as events. Forgiving: every server speaks this dialect a little differently. */
export class ChunkReader implements ApiReader {
  readonly #options: ApiReaderOptions;
  readonly #now: () => number;
  readonly #calls = new Map<number, Call>();
  readonly #callIds = new CallIds();
  #lastIndex = -1;
  #thinkingSince: number | undefined;
  #usage: Usage | undefined;
  #reason: DoneReason | undefined;
  #isOver = false;

  constructor(options: ApiReaderOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  read(_name: string, data: string): readonly TurnEvent[] {
    if (data === "[DONE]") return this.end();
    const chunk = readEvent(data);
    if (chunk["error"]) throw apiError(chunk, this.#options.host);
    this.#usage = usageOf(jsonObject<string>(chunk["usage"]) ?? {}) ?? this.#usage;
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
    for (const { id, name, args } of this.#calls.values()) {
      events.push({ type: "tool-call", id, name, args: args.parse() });
    }
    if (this.#usage) events.push({ type: "usage", usage: this.#usage });
    return [...events, { type: "done", reason: this.#doneReason(this.#reason) }];
  }

  /** Some servers say `stop` although they call tools, or the other way round. */
  #doneReason(reason: DoneReason): DoneReason {
    if (reason !== "stop" && reason !== "tool-calls") return reason;
    return this.#calls.size > 0 ? "tool-calls" : "stop";
  }

  #delta(delta: EventFields): readonly TurnEvent[] {
    const events: TurnEvent[] = [];
    // Some servers say the same in both.
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
    const call = known ?? this.#newCall(id, textIn(called, "name"));
    const json = textIn(called, "arguments");
    this.#calls.set(index, call);
    call.args.add(json);
    return [
      ...(known ? [] : [{ type: "tool-call-start", id: call.id, name: call.name } as const]),
      ...(json === "" ? [] : [{ type: "tool-call-delta", id: call.id, json } as const]),
    ];
  }

  #newCall(id: string, wireName: string): Call {
    if (wireName === "") throw badEvent("with a tool call that has no name");
    return { id: this.#callIds.take(id), name: this.#options.toolName(wireName), args: new CallArguments() };
  }

  #endThinking(): readonly TurnEvent[] {
    if (this.#thinkingSince === undefined) return [];
    const durationMs = Math.round(this.#now() - this.#thinkingSince);
    this.#thinkingSince = undefined;
    return [{ type: "thinking-done", durationMs }];
  }
}

/** Text, or parts of it as some servers send them; parts that are not text say nothing here. */
function contentIn(delta: EventFields): string {
  if (!Array.isArray(delta["content"])) return textIn(delta, "content");
  return delta["content"]
    .map((part) => jsonObject<"text">(part)?.text)
    .filter((text) => typeof text === "string")
    .join("");
}

/** Undefined if it tells nothing. */
function usageOf(usage: EventFields): Usage | undefined {
  const [input, output] = [tokensIn(usage, "prompt_tokens"), tokensIn(usage, "completion_tokens")];
  if (input === undefined && output === undefined) return undefined;
  const detail = (name: string, inner: string) => tokensIn(jsonObject<string>(usage[name]) ?? {}, inner) ?? 0;
  const cachedTokens = detail("prompt_tokens_details", "cached_tokens");
  const reasoningTokens = detail("completion_tokens_details", "reasoning_tokens");
  return {
    // Both are part of these, whatever the upstream says.
    inputTokens: Math.max(input ?? 0, cachedTokens),
    outputTokens: Math.max(output ?? 0, reasoningTokens),
    cachedTokens,
    cacheWrittenTokens: 0,
    reasoningTokens,
    isEstimate: false,
  };
}
