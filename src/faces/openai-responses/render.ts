import { GatheredText } from "../../core/engine/gathered-text.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { Thought } from "../../core/thinking/thoughts.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { TextRenderer } from "../shared/face.ts";
import { FREE_TEXT, type FreeText, stepFreeText } from "../shared/free-text.ts";
import { inOnePiece } from "../shared/in-one-piece.ts";
import { type AnswerHead, type AnswerState, incompleteReason, responseObject } from "./answer.ts";
import { errorObject } from "./errors.ts";
import {
  CALL_EVENTS,
  type CallDraft,
  callItem,
  ID_PREFIXES,
  type ItemStatus,
  inputOf,
  messageItem,
  reasoningItem,
  summaryPart,
  textPart,
} from "./output-item.ts";
import type { Toolbox } from "./toolbox.ts";

export interface RenderOptions {
  readonly toolbox: Toolbox;
  readonly seal: (thought: Thought) => string;
  /** Called once for each reasoning item that is whole. */
  readonly onThought: (itemId: string, thought: Thought) => void;
  /** Whether the client gets the sealed thoughts as well. */
  readonly includesSealed: boolean;
  /** The answer is whole. Its output as it is kept: with what was thought, sealed. */
  readonly onEnd: (response: JsonObject, output: readonly JsonObject[]) => void;
}

/** The item that is being written, token by token. */
interface OpenText {
  readonly type: "message" | "reasoning";
  readonly id: string;
  readonly index: number;
  readonly text: GatheredText;
  /** All of a delta that comes before its text. */
  readonly before: string;
}

interface OpenCall extends CallDraft {
  readonly index: number;
  /** Arguments that have gone out. */
  streamed: string;
  freeText: FreeText;
}

const AFTER_TEXT = ',"sequence_number":';

/**
 * Events as those of the Responses API: every item is added, written and done before the next one, and every event has
 * its number. What is the same in every delta of an item is written out once.
 */
export class ResponseRenderer implements TextRenderer {
  readonly #head: AnswerHead;
  readonly #options: RenderOptions;
  readonly #shown: JsonObject[] = [];
  readonly #kept: JsonObject[] = [];
  #open: OpenText | undefined;
  #call: OpenCall | undefined;
  /** What came while a call was not whole yet: it has to wait, since items do not overlap. */
  readonly #waiting: TurnEvent[] = [];
  #items = 0;
  #sequence = 0;
  #usage: Usage | undefined;
  #hasBegun = false;
  #response: JsonObject | undefined;

  constructor(head: AnswerHead, options: RenderOptions) {
    this.#head = head;
    this.#options = options;
  }

  /** The whole answer, once it is. */
  get response(): JsonObject | undefined {
    return this.#response;
  }

  step(events: readonly TurnEvent[]): string {
    let out = this.#hasBegun ? "" : this.#begin(events);
    for (const event of events) out += this.#render(event);
    return out;
  }

  fail(error: ExcursorError, requestId: string): string {
    const told = errorObject(error, requestId)["error"] as JsonObject;
    const { message = "", code = null, param = null } = told;
    // Text and calls just break off; what was thought is ended, since some clients show it as under way until then.
    const ended = this.#open?.type === "reasoning" ? this.#close("incomplete") : "";
    const response = this.#state({ status: "failed", output: this.#shown.filter(Boolean), error: { code, message } });
    return (
      ended + this.#event("error", { code, message, param, error: told }) + this.#event("response.failed", { response })
    );
  }

  /** Nothing is said before there is something to say: until then, an error can have a status. */
  #begin(events: readonly TurnEvent[]): string {
    if (!events.some(isSomething)) return "";
    this.#hasBegun = true;
    const response = this.#state({ status: "in_progress", output: [] });
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  #render(event: TurnEvent): string {
    if (this.#call && mustWait(event, this.#call.callId)) {
      this.#waiting.push(event);
      return "";
    }
    switch (event.type) {
      case "text":
        return this.#write("message", event.text);
      case "thinking":
        return this.#write("reasoning", event.text);
      case "thinking-done":
        if (this.#open?.type === "reasoning") return this.#close("completed", event.signature);
        return event.signature === undefined ? "" : this.#sealedThought(event.signature);
      case "tool-call-start":
        return this.#startCall(event.id, event.name);
      case "tool-call-delta":
        return this.#continueCall(event.id, event.json);
      case "tool-call":
        return this.#completeCall(event.id, event.name, event.args);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "done":
        return this.#end(event.reason);
      case "activity":
      case "notice":
        return "";
      default:
        return event satisfies never;
    }
  }

  #write(type: OpenText["type"], text: string): string {
    if (text === "") return "";
    const opening = this.#open?.type === type ? "" : this.#openText(type);
    const { before, text: gathered } = this.#open as OpenText;
    gathered.add(text);
    return `${opening}${before}${JSON.stringify(text)}${AFTER_TEXT}${this.#sequence++}}\n\n`;
  }

  #openText(type: OpenText["type"]): string {
    const closing = this.#close("completed");
    const isMessage = type === "message";
    const [id, index] = this.#newItem(isMessage ? "msg" : "rs");
    const place = { item_id: id, output_index: index, [isMessage ? "content_index" : "summary_index"]: 0 };
    const name = isMessage ? "response.output_text.delta" : "response.reasoning_summary_text.delta";
    const delta = JSON.stringify({ type: name, ...place, ...(isMessage && { logprobs: [] }), delta: "" });
    const before = inOnePiece(`event: ${name}\ndata: ${delta.slice(0, -'""}'.length)}`);
    this.#open = { type, id, index, text: new GatheredText(), before };
    const item = isMessage ? messageItem(id, "in_progress") : reasoningItem(id);
    const part = isMessage ? textPart("") : summaryPart("");
    return (
      closing +
      this.#event("response.output_item.added", { output_index: index, item }) +
      this.#event(isMessage ? "response.content_part.added" : "response.reasoning_summary_part.added", {
        ...place,
        part,
      })
    );
  }

  #close(status: ItemStatus, signature?: string): string {
    const open = this.#open;
    if (!open) return "";
    this.#open = undefined;
    const { id, index } = open;
    const text = open.text.take();
    if (open.type === "message") {
      const place = { item_id: id, output_index: index, content_index: 0 };
      return (
        this.#event("response.output_text.done", { ...place, text, logprobs: [] }) +
        this.#event("response.content_part.done", { ...place, part: textPart(text) }) +
        this.#done(index, messageItem(id, status, text))
      );
    }
    const place = { item_id: id, output_index: index, summary_index: 0 };
    const sealed = this.#keep(id, { text, signature });
    return (
      this.#event("response.reasoning_summary_text.done", { ...place, text }) +
      this.#event("response.reasoning_summary_part.done", { ...place, part: summaryPart(text) }) +
      this.#done(
        index,
        reasoningItem(id, text, this.#options.includesSealed ? sealed : undefined, status),
        reasoningItem(id, text, sealed, status),
      )
    );
  }

  /** Thinking without a text: all there is of it is sealed. */
  #sealedThought(signature: string): string {
    const closing = this.#close("completed");
    const [id, index] = this.#newItem("rs");
    const sealed = this.#keep(id, { text: "", signature });
    const item = reasoningItem(id, undefined, this.#options.includesSealed ? sealed : undefined);
    return (
      closing +
      this.#event("response.output_item.added", { output_index: index, item: reasoningItem(id) }) +
      this.#done(index, item, reasoningItem(id, undefined, sealed))
    );
  }

  /** Returns the sealed thought. */
  #keep(itemId: string, thought: Thought): string {
    this.#options.onThought(itemId, thought);
    return this.#options.seal(thought);
  }

  #startCall(callId: string, name: string): string {
    const closing = this.#close("completed");
    const tool = this.#options.toolbox.find(name);
    const [itemId, index] = this.#newItem(ID_PREFIXES[tool.kind]);
    const call: OpenCall = { itemId, index, callId, tool, streamed: "", freeText: FREE_TEXT };
    this.#call = call;
    const item = callItem(call, "in_progress", "");
    return closing + this.#event("response.output_item.added", { output_index: index, item });
  }

  /** Without its start there is nowhere to put it: the whole call will bring it. */
  #continueCall(callId: string, json: string): string {
    const call = this.#call;
    if (call?.callId !== callId || call.tool.kind === "tool-search") return "";
    if (call.tool.kind === "function") return this.#callDelta(call, json);
    const { state, text } = stepFreeText(call.freeText, json);
    call.freeText = state;
    return this.#callDelta(call, text);
  }

  #completeCall(callId: string, name: string, args: JsonObject): string {
    const starting = this.#call ? "" : this.#startCall(callId, name);
    const call = this.#call as OpenCall;
    const written = call.tool.kind === "custom" ? inputOf(args) : JSON.stringify(args);
    const rest = this.#callDelta(call, restOf(call, written));
    return starting + rest + this.#closeCall(call, "completed");
  }

  #callDelta(call: OpenCall, delta: string): string {
    if (delta === "") return "";
    call.streamed += delta;
    const { itemId, index, tool } = call;
    const events = CALL_EVENTS[tool.kind];
    return events ? this.#event(`${events.name}.delta`, { item_id: itemId, output_index: index, delta }) : "";
  }

  #closeCall(call: OpenCall, status: ItemStatus): string {
    this.#call = undefined;
    const { itemId, index, tool, streamed } = call;
    const events = CALL_EVENTS[tool.kind];
    const place = { item_id: itemId, output_index: index };
    return (
      (events ? this.#event(`${events.name}.done`, { ...place, [events.field]: streamed }) : "") +
      this.#done(index, callItem(call, status, streamed)) +
      this.step(this.#waiting.splice(0))
    );
  }

  #end(reason: DoneReason): string {
    const incompleteBecause = incompleteReason(reason);
    const status = incompleteBecause === undefined ? "completed" : "incomplete";
    let out = "";
    while (this.#call) out += this.#closeCall(this.#call, "incomplete");
    out += this.#close(status);
    const because = incompleteBecause === undefined ? {} : { incompleteBecause };
    const response = this.#state({ status, output: this.#shown, ...because });
    this.#response = response;
    this.#options.onEnd(response, this.#kept);
    return out + this.#event(`response.${status}`, { response });
  }

  #newItem(prefix: string): readonly [id: string, index: number] {
    const index = this.#items++;
    return [`${prefix}_${this.#head.id.slice("resp_".length)}_${index}`, index];
  }

  #done(index: number, item: JsonObject, kept = item): string {
    this.#shown[index] = item;
    this.#kept[index] = kept;
    return this.#event("response.output_item.done", { output_index: index, item });
  }

  #state(state: AnswerState): JsonObject {
    return responseObject(this.#head, { ...state, usage: this.#usage });
  }

  #event(type: string, fields: JsonObject): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })}\n\n`;
  }
}

function mustWait(event: TurnEvent, callId: string): boolean {
  if (event.type === "usage" || event.type === "notice" || event.type === "done") return false;
  return !("id" in event && event.id === callId);
}

/** What has not gone out. The model's own spelling of JSON may be another one; what it said stands. */
function restOf({ streamed, tool }: OpenCall, written: string): string {
  if (tool.kind !== "custom") return streamed === "" ? written : "";
  return written.startsWith(streamed) ? written.slice(streamed.length) : "";
}

/** Thinking that ends without a signature ends nothing that was not seen. */
const isSomething = (event: TurnEvent): boolean =>
  event.type === "thinking-done" ? event.signature !== undefined : event.type !== "usage" && event.type !== "notice";
