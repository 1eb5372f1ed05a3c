import { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { redactedSignature } from "../../core/redacted-thinking.ts";
import { apiError } from "../http-api/api-error.ts";
import type { ApiReader } from "../http-api/api-run.ts";
import { CallArguments } from "../http-api/call-arguments.ts";

/** What we look at of the stream's events; all of it may be missing. */
interface StreamEvent {
  readonly type?: string;
  readonly index?: number;
  readonly message?: { readonly usage?: ApiUsage };
  readonly usage?: ApiUsage;
  readonly content_block?: {
    readonly type?: string;
    readonly id?: string;
    readonly name?: string;
    readonly text?: string;
    readonly thinking?: string;
    readonly signature?: string;
    readonly data?: string;
    readonly input?: object;
  };
  readonly delta?: {
    readonly type?: string;
    readonly text?: string;
    readonly thinking?: string;
    readonly signature?: string;
    readonly partial_json?: string;
    readonly stop_reason?: string | null;
    readonly stop_sequence?: string | null;
  };
}

interface ApiUsage {
  readonly input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly output_tokens_details?: { readonly thinking_tokens?: number | null } | null;
}

type Block =
  | { readonly type: "other" }
  | { readonly type: "thinking"; readonly since: number; signature: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly args: CallArguments };

const REASONS: Readonly<Record<string, DoneReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "tool-calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content-filter",
};

export interface ReaderOptions {
  /** Of the upstream, for errors. */
  readonly host: string;
  /** The client's name of a tool. */
  readonly toolName: (wireName: string) => string;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

/** The stream of one message as events. */
export class MessageReader implements ApiReader {
  readonly #options: ReaderOptions;
  readonly #now: () => number;
  readonly #blocks = new Map<number, Block>();
  #usage: ApiUsage | undefined;
  #stop: { readonly reason: DoneReason; readonly stopSequence?: string } | undefined;
  #hasCalls = false;
  #isOver = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  read(_name: string, data: string): readonly TurnEvent[] {
    const event = parse(data);
    const { delta } = event;
    switch (event.type) {
      case "content_block_delta":
        if (delta?.type === "text_delta") return delta.text ? [{ type: "text", text: delta.text }] : [];
        return this.#delta(event);
      case "content_block_start":
        return this.#start(event);
      case "content_block_stop":
        return this.#close(event.index ?? 0);
      case "message_start":
        this.#usage = event.message?.usage;
        return [];
      case "message_delta":
        if (event.usage) this.#usage = { ...this.#usage, ...given(event.usage) };
        if (delta?.stop_reason) this.#stop = stopOf(delta.stop_reason, delta.stop_sequence);
        return [];
      case "message_stop":
        return this.end();
      case "error":
        throw apiError(event, this.#options.host);
      default:
        // `ping`, and what is yet to be invented.
        return [];
    }
  }

  end(): readonly TurnEvent[] {
    if (this.#isOver || !this.#stop) return [];
    this.#isOver = true;
    const open = [...this.#blocks.keys()].flatMap((index) => this.#close(index));
    const { reason } = this.#stop;
    const usage: readonly TurnEvent[] = this.#usage ? [{ type: "usage", usage: usageOf(this.#usage) }] : [];
    // What says that it calls tools, and calls none, has just stopped.
    const told = reason === "tool-calls" && !this.#hasCalls ? "stop" : reason;
    return [...open, ...usage, { type: "done", ...this.#stop, reason: told }];
  }

  #start({ index = 0, content_block: block = {} }: StreamEvent): readonly TurnEvent[] {
    switch (block.type) {
      case "text":
        return block.text ? [{ type: "text", text: block.text }] : [];
      case "thinking":
        this.#blocks.set(index, { type: "thinking", since: this.#now(), signature: block.signature ?? "" });
        return block.thinking ? [{ type: "thinking", text: block.thinking }] : [];
      case "redacted_thinking":
        return [{ type: "thinking-done", durationMs: 0, signature: redactedSignature(block.data ?? "") }];
      case "tool_use": {
        const { id = `toolu_${index}`, name: wireName = "" } = block;
        const name = this.#options.toolName(wireName);
        this.#blocks.set(index, { type: "tool_use", id, name, args: new CallArguments(block.input) });
        this.#hasCalls = true;
        return [{ type: "tool-call-start", id, name }];
      }
      default:
        return [];
    }
  }

  #delta({ index = 0, delta = {} }: StreamEvent): readonly TurnEvent[] {
    const block = this.#blocks.get(index);
    if (block?.type === "thinking") {
      if (delta.type === "signature_delta") block.signature += delta.signature ?? "";
      return delta.type === "thinking_delta" && delta.thinking ? [{ type: "thinking", text: delta.thinking }] : [];
    }
    if (block?.type !== "tool_use" || delta.type !== "input_json_delta" || !delta.partial_json) return [];
    block.args.add(delta.partial_json);
    return [{ type: "tool-call-delta", id: block.id, json: delta.partial_json }];
  }

  #close(index: number): readonly TurnEvent[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.type === "thinking") {
      const { signature, since } = block;
      const durationMs = Math.round(this.#now() - since);
      return [{ type: "thinking-done", durationMs, ...(signature !== "" && { signature }) }];
    }
    if (block?.type !== "tool_use") return [];
    return [{ type: "tool-call", id: block.id, name: block.name, args: block.args.parse() }];
  }
}

function parse(data: string): StreamEvent {
  try {
    const event: unknown = JSON.parse(data);
    if (typeof event === "object" && event !== null) return event as StreamEvent;
  } catch {
    // Told below.
  }
  throw new ExcursorError("upstream-protocol", "The upstream sent an event that is not JSON.", { code: "bad_event" });
}

const stopOf = (reason: string, sequence: string | null | undefined) => ({
  reason: REASONS[reason] ?? "stop",
  ...(reason === "stop_sequence" && sequence && { stopSequence: sequence }),
});

/** Later figures replace earlier ones where there are some. */
const given = (usage: ApiUsage): ApiUsage =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null && value !== undefined));

function usageOf(usage: ApiUsage): Usage {
  const cached = usage.cache_read_input_tokens ?? 0;
  return {
    inputTokens: (usage.input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0) + cached,
    outputTokens: usage.output_tokens ?? 0,
    cachedTokens: cached,
    reasoningTokens: usage.output_tokens_details?.thinking_tokens ?? 0,
    isEstimate: false,
  };
}
