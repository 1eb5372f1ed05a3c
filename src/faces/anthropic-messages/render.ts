import type { RawContentBlockDelta, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import type { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent, Usage } from "../../core/events.ts";
import { redactedData } from "../../core/thinking/redacted-thinking.ts";
import type { TextRenderer } from "../shared/face.ts";
import type { Official } from "../shared/official.ts";
import {
  type AnswerHead,
  type Block,
  messageObject,
  redactedBlock,
  stopFields,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from "./answer.ts";
import { errorObject } from "./errors.ts";
import { SignatureMint } from "./signature.ts";
import { deltaUsage, openingUsage } from "./usage.ts";

type OpenBlock =
  | { readonly type: "text" }
  | { readonly type: "thinking"; readonly mint: SignatureMint }
  | { readonly type: "call"; readonly id: string; hasStreamed: boolean };

type Done = Extract<TurnEvent, { type: "done" }>;

const PING = serverEvent({ type: "ping" });

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
    const opening = this.#open?.type === "text" ? "" : this.#start({ type: "text" }, textBlock(""));
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
    if (data !== undefined) return this.#start({ type: "text" }, redactedBlock(data)) + this.#close();
    return this.#startThinking() + this.#close(signature);
  }

  #startThinking(): string {
    return this.#start({ type: "thinking", mint: new SignatureMint() }, thinkingBlock("", ""));
  }

  #startCall(id: string, name: string): string {
    return this.#start({ type: "call", id, hasStreamed: false }, toolUseBlock(id, name, {}));
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

  #start(open: OpenBlock, block: Block): string {
    const isFirst = this.#blocks === 0;
    const opening = isFirst ? this.#begin() : this.#close();
    const index = this.#blocks++;
    this.#open = open;
    this.#beforeDelta = beforeDelta(index, open.type);
    return opening + serverEvent({ type: "content_block_start", index, content_block: block }) + (isFirst ? PING : "");
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
    const stop = serverEvent({ type: "content_block_stop", index });
    if (open.type !== "thinking") return stop;
    const delta = { type: "signature_delta", signature: signature ?? open.mint.mint() } as const;
    return serverEvent({ type: "content_block_delta", index, delta }) + stop;
  }

  #begin(): string {
    return serverEvent({ type: "message_start", message: messageObject(this.#head, []) });
  }

  #end(done: Done): string {
    // A call that never finished is closed. The events that waited for it are rendered.
    let out = "";
    while (this.#open?.type === "call") out += this.#close() + this.step(this.#waiting.splice(0));
    out += this.#blocks === 0 ? this.#begin() : this.#close();
    const usage = deltaUsage(this.#usage ?? openingUsage(this.#head.inputTokens()));
    return (
      out +
      serverEvent({ type: "message_delta", delta: stopFields(done), usage }) +
      serverEvent({ type: "message_stop" })
    );
  }
}

/** The official types leave out `ping`, which the service sends, too. */
function serverEvent(event: Official<RawMessageStreamEvent> | { readonly type: "ping" }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

const DELTAS = {
  text: { type: "text_delta", text: "" },
  thinking: { type: "thinking_delta", thinking: "" },
  call: { type: "input_json_delta", partial_json: "" },
} as const satisfies Record<OpenBlock["type"], Official<RawContentBlockDelta>>;

function beforeDelta(index: number, block: OpenBlock["type"]): string {
  const whole = serverEvent({ type: "content_block_delta", index, delta: DELTAS[block] });
  return whole.slice(0, whole.lastIndexOf('""'));
}
