import type { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent, Usage } from "../../core/events.ts";
import { redactedData } from "../../core/thinking/redacted-thinking.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { TextRenderer } from "../shared/face.ts";
import { type AnswerHead, stopFields } from "./answer.ts";
import { errorObject } from "./errors.ts";
import { SignatureMint } from "./signature.ts";
import { openingUsage, usageObject } from "./usage.ts";

type OpenBlock =
  | { readonly type: "text" }
  | { readonly type: "thinking"; readonly mint: SignatureMint }
  | { readonly type: "call"; readonly id: string; hasStreamed: boolean };

type Done = Extract<TurnEvent, { type: "done" }>;

const PING = serverEvent("ping", {});

const AFTER_DELTA = "}}\n\n";

/**
 * Renders events as Anthropic streams them: numbered blocks, one open at a time. The text around a block's deltas is
 * built once, so a token costs one `JSON.stringify` and one concatenation.
 */
export class MessageRenderer implements TextRenderer {
  readonly keepAlive = PING;
  readonly #head: AnswerHead;
  #open: OpenBlock | undefined;
  #blocks = 0;
  #beforeDelta = "";
  /** Events that arrived during an unfinished call. Blocks do not overlap, so they wait. */
  readonly #waiting: TurnEvent[] = [];
  #usage: Usage | undefined;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  step(events: readonly TurnEvent[]): string {
    let out = "";
    for (const event of events) out += this.#render(event);
    return out;
  }

  fail(error: ExcursorError, requestId: string): string {
    // Closes a thinking block, because some clients show it as running until it ends. Text and calls just break off.
    const ended = this.#open?.type === "thinking" ? this.#close() : "";
    return `${ended}event: error\ndata: ${JSON.stringify(errorObject(error, requestId))}\n\n`;
  }

  #render(event: TurnEvent): string {
    if (this.#open?.type === "call" && this.#mustWait(event, this.#open.id)) {
      this.#waiting.push(event);
      return "";
    }
    switch (event.type) {
      case "text":
        return this.#text(event.text);
      case "thinking":
        return this.#thinking(event.text);
      case "thinking-done":
        return this.#thinkingDone(event.signature);
      case "tool-call-start":
        return this.#startCall(event.id, event.name);
      case "tool-call-delta":
        return this.#continueCall(event.id, event.json);
      case "tool-call":
        return this.#completeCall(event.id, event.name, JSON.stringify(event.args));
      case "usage":
        this.#usage = event.usage;
        return "";
      case "done":
        return this.#end(event);
      case "activity":
      case "notice":
        return "";
      default:
        return event satisfies never;
    }
  }

  #mustWait(event: TurnEvent, id: string): boolean {
    if (event.type === "usage" || event.type === "notice" || event.type === "done") return false;
    return !("id" in event && event.id === id);
  }

  #text(text: string): string {
    const opening = this.#open?.type === "text" ? "" : this.#start({ type: "text" }, { type: "text", text: "" });
    return opening + this.#delta(text);
  }

  #thinking(given: string): string {
    const text = this.#head.omitsThinking ? "" : given;
    const opening = this.#open?.type === "thinking" ? "" : this.#startThinking();
    if (this.#open?.type === "thinking") this.#open.mint.add(text);
    return text === "" ? opening : opening + this.#delta(text);
  }

  #thinkingDone(signature: string | undefined): string {
    if (this.#open?.type === "thinking") return this.#close(signature);
    if (signature === undefined) return "";
    // Thinking without text has only a signature, or is sealed (`redacted_thinking`), which has no deltas.
    const data = redactedData(signature);
    if (data !== undefined) return this.#start({ type: "text" }, { type: "redacted_thinking", data }) + this.#close();
    return this.#startThinking() + this.#close(signature);
  }

  #startThinking(): string {
    const block = { type: "thinking", thinking: "", signature: "" };
    return this.#start({ type: "thinking", mint: new SignatureMint() }, block);
  }

  #startCall(id: string, name: string): string {
    return this.#start({ type: "call", id, hasStreamed: false }, { type: "tool_use", id, name, input: {} });
  }

  /** Drops deltas of a call that has not started; the whole call follows. */
  #continueCall(id: string, json: string): string {
    if (this.#open?.type !== "call" || this.#open.id !== id || json === "") return "";
    this.#open.hasStreamed = true;
    return this.#delta(json);
  }

  #completeCall(id: string, name: string, json: string): string {
    let out = this.#open?.type === "call" ? "" : this.#startCall(id, name);
    if (this.#open?.type === "call" && !this.#open.hasStreamed) out += this.#delta(json);
    out += this.#close();
    return out + this.step(this.#waiting.splice(0));
  }

  #start(open: OpenBlock, block: JsonObject): string {
    const isFirst = this.#blocks === 0;
    const opening = isFirst ? this.#begin() : this.#close();
    const index = this.#blocks++;
    this.#open = open;
    this.#beforeDelta = beforeDelta(index, open.type);
    return opening + serverEvent("content_block_start", { index, content_block: block }) + (isFirst ? PING : "");
  }

  #delta(text: string): string {
    return this.#beforeDelta + JSON.stringify(text) + AFTER_DELTA;
  }

  /** Closes the open block, if there is one. */
  #close(signature?: string): string {
    const open = this.#open;
    if (!open) return "";
    this.#open = undefined;
    const index = this.#blocks - 1;
    const delta = open.type === "thinking" && {
      type: "signature_delta",
      signature: signature ?? open.mint.mint(),
    };
    const signed = delta ? serverEvent("content_block_delta", { index, delta }) : "";
    return signed + serverEvent("content_block_stop", { index });
  }

  #begin(): string {
    const { id, model, inputTokens } = this.#head;
    const message = {
      id,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    return serverEvent("message_start", { message: { ...message, usage: openingUsage(inputTokens()) } });
  }

  #end(done: Done): string {
    // A call that never finished is closed. The events that waited for it are rendered.
    let out = "";
    while (this.#open?.type === "call") out += this.#close() + this.step(this.#waiting.splice(0));
    out += this.#blocks === 0 ? this.#begin() : this.#close();
    const usage = this.#usage ? usageObject(this.#usage) : openingUsage(this.#head.inputTokens());
    return out + serverEvent("message_delta", { delta: stopFields(done), usage }) + serverEvent("message_stop", {});
  }
}

function serverEvent(type: string, data: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

const DELTAS = {
  text: ["text_delta", "text"],
  thinking: ["thinking_delta", "thinking"],
  call: ["input_json_delta", "partial_json"],
} as const satisfies Record<OpenBlock["type"], readonly [string, string]>;

function beforeDelta(index: number, block: OpenBlock["type"]): string {
  const [type, field] = DELTAS[block];
  const whole = serverEvent("content_block_delta", { index, delta: { type, [field]: "" } });
  return whole.slice(0, whole.lastIndexOf('""'));
}
