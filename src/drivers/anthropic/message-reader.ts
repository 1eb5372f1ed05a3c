import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { redactedSignature } from "../../core/thinking/redacted-thinking.ts";
import { jsonObject } from "../../wire/json.ts";
import { apiError } from "../shared/api/api-error.ts";
import { type ApiReaderOptions, usageOf } from "../shared/api/api-reader.ts";
import type { ApiReader } from "../shared/api/api-run.ts";
import {
  badEvent,
  type EventFields,
  indexIn,
  objectIn,
  readEvent,
  textIn,
  tokensIn,
} from "../shared/api/event-fields.ts";
import { type StreamedCall, StreamedCalls } from "../shared/api/streamed-calls.ts";

type Block =
  | { readonly type: "other" }
  | { readonly type: "thinking"; readonly since: number; signature: string }
  | { readonly type: "tool_use"; readonly call: StreamedCall };

const REASONS: ReadonlyMap<string, DoneReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content-filter"],
]);

const MAX_OPEN_BLOCKS = 1024;
const MAX_SIGNATURE_LENGTH = 1024 * 1024;

export class MessageReader implements ApiReader {
  readonly #options: ApiReaderOptions;
  readonly #now: () => number;
  readonly #blocks = new Map<number, Block>();
  readonly #calls: StreamedCalls;
  #usage: EventFields = {};
  #stop: { readonly reason: DoneReason; readonly stopSequence?: string } | undefined;
  #isOver = false;

  constructor(options: ApiReaderOptions) {
    this.#options = options;
    this.#calls = new StreamedCalls(options.toolName);
    this.#now = options.now ?? (() => performance.now());
  }

  read(_name: string, data: string): readonly TurnEvent[] {
    const event = readEvent(data);
    switch (event["type"]) {
      case "content_block_delta":
        return this.#delta(event);
      case "content_block_start":
        return this.#start(event);
      case "content_block_stop":
        return this.#close(indexIn(event, "index") ?? 0);
      case "message_start":
        this.#usage = objectIn(objectIn(event, "message"), "usage");
        return [];
      case "message_delta": {
        this.#usage = { ...this.#usage, ...given(objectIn(event, "usage")) };
        const delta = objectIn(event, "delta");
        const reason = textIn(delta, "stop_reason");
        if (reason !== "") this.#stop = stopOf(reason, textIn(delta, "stop_sequence"));
        return [];
      }
      case "message_stop":
        return this.end();
      case "error":
        throw apiError(event, this.#options.host);
      default:
        // `ping`, and unknown types.
        return [];
    }
  }

  end(): readonly TurnEvent[] {
    if (this.#isOver || !this.#stop) return [];
    this.#isOver = true;
    const open = [...this.#blocks.keys()].flatMap((index) => this.#close(index));
    const { reason } = this.#stop;
    const usage = countsIn(this.#usage);
    // An answer that announces tool calls but has none has just stopped.
    const endReason = reason === "tool-calls" && this.#calls.size === 0 ? "stop" : reason;
    return [
      ...open,
      ...(usage ? [{ type: "usage", usage } as const] : []),
      { type: "done", ...this.#stop, reason: endReason },
    ];
  }

  #start(event: EventFields): readonly TurnEvent[] {
    const index = indexIn(event, "index") ?? 0;
    // A block that was never closed, or a server without indexes.
    const ended = this.#close(index);
    return [...ended, ...this.#begin(index, objectIn(event, "content_block"))];
  }

  #begin(index: number, block: EventFields): readonly TurnEvent[] {
    switch (block["type"]) {
      case "text":
        return textEvents("text", textIn(block, "text"));
      case "thinking":
        this.#open(index, { type: "thinking", since: this.#now(), signature: textIn(block, "signature") });
        return textEvents("thinking", textIn(block, "thinking"));
      case "redacted_thinking":
        return [{ type: "thinking-done", durationMs: 0, signature: redactedSignature(textIn(block, "data")) }];
      case "tool_use": {
        const call = this.#calls.begin(textIn(block, "id"), textIn(block, "name"), jsonObject(block["input"]));
        this.#open(index, { type: "tool_use", call });
        return [call.start()];
      }
      default:
        return [];
    }
  }

  #open(index: number, block: Block): void {
    if (this.#blocks.size === MAX_OPEN_BLOCKS)
      throw badEvent(`that begins more than ${MAX_OPEN_BLOCKS} blocks at once`);
    this.#blocks.set(index, block);
  }

  #delta(event: EventFields): readonly TurnEvent[] {
    const delta = objectIn(event, "delta");
    if (delta["type"] === "text_delta") return textEvents("text", textIn(delta, "text"));
    const block = this.#blocks.get(indexIn(event, "index") ?? 0);
    if (block?.type === "thinking") {
      if (delta["type"] === "signature_delta") block.signature += textIn(delta, "signature");
      if (block.signature.length > MAX_SIGNATURE_LENGTH) throw badEvent("with a signature that is larger than allowed");
      return delta["type"] === "thinking_delta" ? textEvents("thinking", textIn(delta, "thinking")) : [];
    }
    if (block?.type !== "tool_use" || delta["type"] !== "input_json_delta") return [];
    return block.call.add(textIn(delta, "partial_json"));
  }

  #close(index: number): readonly TurnEvent[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.type === "thinking") {
      const { signature, since } = block;
      const durationMs = Math.round(this.#now() - since);
      return [{ type: "thinking-done", durationMs, ...(signature !== "" && { signature }) }];
    }
    return block?.type === "tool_use" ? [block.call.end()] : [];
  }
}

const textEvents = (type: "text" | "thinking", text: string): readonly TurnEvent[] =>
  text === "" ? [] : [{ type, text }];

const stopOf = (reason: string, sequence: string) => ({
  reason: REASONS.get(reason) ?? "stop",
  ...(reason === "stop_sequence" && sequence !== "" && { stopSequence: sequence }),
});

/** Later figures replace earlier ones. */
const given = (usage: EventFields): EventFields =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null && value !== undefined));

function countsIn(usage: EventFields): Usage | undefined {
  const [input, written, cached, output] = [
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
  ].map((name) => tokensIn(usage, name));
  const hasCounts = input !== undefined || output !== undefined;
  return usageOf({
    // `input_tokens` excludes input that was read from or written to the cache.
    input: hasCounts ? (input ?? 0) + (written ?? 0) + (cached ?? 0) : undefined,
    output,
    cached,
    written,
    reasoning: tokensIn(jsonObject<string>(usage["output_tokens_details"]) ?? {}, "thinking_tokens"),
  });
}
