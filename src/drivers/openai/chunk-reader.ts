import { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { apiError } from "../http-api/api-error.ts";
import type { ApiReader } from "../http-api/api-run.ts";
import { CallArguments } from "../http-api/call-arguments.ts";

/** What we look at of a chunk; all of it may be missing. */
interface Chunk {
  readonly error?: unknown;
  readonly usage?: ApiUsage | null;
  readonly choices?: readonly {
    readonly delta?: Delta | null;
    readonly finish_reason?: string | null;
  }[];
}

interface Delta {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly CallDelta[] | null;
}

interface CallDelta {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null } | null;
}

interface ApiUsage {
  readonly prompt_tokens?: number | null;
  readonly completion_tokens?: number | null;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: CallArguments;
}

const REASONS: Readonly<Record<string, DoneReason>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "content-filter",
};

export interface ReaderOptions {
  /** Of the upstream, for errors. */
  readonly host: string;
  /** The client's name of a tool. */
  readonly toolName: (wireName: string) => string;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

/** The chunks of one completion as events. Forgiving: every server speaks this dialect a little differently. */
export class ChunkReader implements ApiReader {
  readonly #options: ReaderOptions;
  readonly #now: () => number;
  readonly #calls = new Map<number, Call>();
  #lastIndex = -1;
  #thinkingSince: number | undefined;
  #usage: ApiUsage | undefined;
  #reason: DoneReason | undefined;
  #isOver = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  read(_name: string, data: string): readonly TurnEvent[] {
    if (data === "[DONE]") return this.end();
    const chunk = parse(data);
    if (chunk.error) throw apiError(chunk, this.#options.host);
    if (chunk.usage) this.#usage = chunk.usage;
    const choice = chunk.choices?.[0];
    const events = choice?.delta ? this.#delta(choice.delta) : [];
    if (choice?.finish_reason) this.#reason = REASONS[choice.finish_reason] ?? "stop";
    return events;
  }

  end(): readonly TurnEvent[] {
    if (this.#isOver || this.#reason === undefined) return [];
    this.#isOver = true;
    const events: TurnEvent[] = [...this.#endThinking()];
    for (const { id, name, args } of this.#calls.values()) {
      events.push({ type: "tool-call", id, name, args: args.parse() });
    }
    if (this.#usage) events.push({ type: "usage", usage: usageOf(this.#usage) });
    return [...events, { type: "done", reason: this.#doneReason(this.#reason) }];
  }

  /** Some servers say `stop` although they call tools, or the other way round. */
  #doneReason(reason: DoneReason): DoneReason {
    if (reason !== "stop" && reason !== "tool-calls") return reason;
    return this.#calls.size > 0 ? "tool-calls" : "stop";
  }

  #delta(delta: Delta): readonly TurnEvent[] {
    const events: TurnEvent[] = [];
    // Some servers say the same in both.
    const thought = delta.reasoning_content || delta.reasoning;
    if (typeof thought === "string" && thought !== "") {
      this.#thinkingSince ??= this.#now();
      events.push({ type: "thinking", text: thought });
    }
    const said = delta.content || delta.refusal;
    if (typeof said === "string" && said !== "") events.push(...this.#endThinking(), { type: "text", text: said });
    for (const call of delta.tool_calls ?? []) events.push(...this.#endThinking(), ...this.#callDelta(call));
    return events;
  }

  #callDelta({ index: given, id, function: called }: CallDelta): readonly TurnEvent[] {
    const index = given ?? (id || this.#lastIndex === -1 ? this.#lastIndex + 1 : this.#lastIndex);
    this.#lastIndex = index;
    const known = this.#calls.get(index);
    const call = known ?? {
      id: id || `call_${index}`,
      name: this.#options.toolName(called?.name ?? ""),
      args: new CallArguments(),
    };
    const json = called?.arguments ?? "";
    this.#calls.set(index, call);
    call.args.add(json);
    return [
      ...(known ? [] : [{ type: "tool-call-start", id: call.id, name: call.name } as const]),
      ...(json === "" ? [] : [{ type: "tool-call-delta", id: call.id, json } as const]),
    ];
  }

  #endThinking(): readonly TurnEvent[] {
    if (this.#thinkingSince === undefined) return [];
    const durationMs = Math.round(this.#now() - this.#thinkingSince);
    this.#thinkingSince = undefined;
    return [{ type: "thinking-done", durationMs }];
  }
}

function parse(data: string): Chunk {
  try {
    const chunk: unknown = JSON.parse(data);
    if (typeof chunk === "object" && chunk !== null) return chunk as Chunk;
  } catch {
    // Told below.
  }
  throw new ExcursorError("upstream-protocol", "The upstream sent an event that is not JSON.", { code: "bad_event" });
}

const usageOf = (usage: ApiUsage): Usage => ({
  inputTokens: usage.prompt_tokens ?? 0,
  outputTokens: usage.completion_tokens ?? 0,
  cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  isEstimate: false,
});
