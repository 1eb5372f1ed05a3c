import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { GatheredText } from "../../core/engine/gathered-text.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { IGNORED } from "../../core/notices/ignored.ts";
import type { Thought } from "../../core/thinking/thoughts.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { TextRenderer } from "../shared/face.ts";
import { FREE_TEXT, type FreeText, stepFreeText } from "../shared/free-text.ts";
import type { Official } from "../shared/official.ts";
import {
  type AnswerHead,
  type AnswerState,
  incompleteReason,
  type ResponseObject,
  responseObject,
  withoutOption,
} from "./answer.ts";
import { errorObject, failureCode } from "./errors.ts";
import {
  type CallDraft,
  callItem,
  ID_PREFIXES,
  type ItemStatus,
  inputOf,
  messageItem,
  type OutputItem,
  reasoningItem,
  summaryPart,
  textPart,
} from "./output-item.ts";
import type { Toolbox } from "./request/toolbox.ts";

export interface RenderOptions {
  readonly toolbox: Toolbox;
  readonly seal: (thought: Thought) => string;
  /** Called once for each complete reasoning item. */
  readonly onThought: (itemId: string, thought: Thought) => void;
  /** Whether the client also gets the encrypted thinking. */
  readonly includesSealed: boolean;
  /** Called when the answer is complete. `output` is what to store: it includes the encrypted thinking. */
  readonly onEnd: (response: ResponseObject, output: readonly OutputItem[]) => void;
}

type OfficialEvents = { [Event in Official<ResponseStreamEvent> as Event["type"]]: Event };

/** What each event has beside its type and number. Ours repeats the whole error in `error`, where Codex reads it. */
type Events = {
  readonly [Type in keyof OfficialEvents]: "response" extends keyof OfficialEvents[Type]
    ? { readonly response: ResponseObject }
    : Omit<OfficialEvents[Type], "type" | "sequence_number"> &
        (Type extends "error" ? { readonly error: object } : unknown);
};

interface OpenText {
  readonly type: "message" | "reasoning";
  readonly id: string;
  readonly index: number;
  readonly text: GatheredText;
  /** The constant text before a delta's own text. */
  readonly before: string;
}

interface OpenCall extends CallDraft {
  readonly index: number;
  /** The arguments sent so far. */
  streamed: string;
  freeText: FreeText;
}

const AFTER_TEXT = ',"sequence_number":';

/**
 * Renders events of the Responses API: each item is added, streamed and done before the next one, and each event is
 * numbered. The constant text of an item's deltas is built once.
 */
export class ResponseRenderer implements TextRenderer {
  #head: AnswerHead;
  readonly #options: RenderOptions;
  readonly #shown: OutputItem[] = [];
  readonly #kept: OutputItem[] = [];
  #open: OpenText | undefined;
  #call: OpenCall | undefined;
  /** Events that arrived during an unfinished call. Items do not overlap, so they wait. */
  readonly #waiting: TurnEvent[] = [];
  #items = 0;
  #sequence = 0;
  #usage: Usage | undefined;
  #hasBegun = false;
  #response: ResponseObject | undefined;

  constructor(head: AnswerHead, options: RenderOptions) {
    this.#head = head;
    this.#options = options;
  }

  /** The whole answer. Undefined until it is complete. */
  get response(): ResponseObject | undefined {
    return this.#response;
  }

  step(events: readonly TurnEvent[]): string {
    let out = this.#hasBegun ? "" : this.#begin(events);
    for (const event of events) out += this.#render(event);
    return out;
  }

  fail(error: ExcursorError, requestId: string): string {
    const body = errorObject(error, requestId).error;
    const { message, code, param } = body;
    // Closes a reasoning item, because some clients show it as running until it ends. Text and calls just break off.
    const ended = this.#open?.type === "reasoning" ? this.#close("incomplete") : "";
    const response = this.#state({
      status: "failed",
      output: this.#shown.filter(Boolean),
      error: { code: failureCode(error), message },
    });
    return (
      ended + this.#event("error", { code, message, param, error: body }) + this.#event("response.failed", { response })
    );
  }

  /** Returns nothing before the first real event, so that an error can still have a status. */
  #begin(events: readonly TurnEvent[]): string {
    for (const event of events) {
      if (event.type !== "notice" || event.code !== IGNORED) continue;
      this.#head = { ...this.#head, echo: withoutOption(this.#head.echo, event.text) };
    }
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
    const place = { item_id: id, output_index: index };
    this.#open = { type, id, index, text: new GatheredText(), before: beforeDelta(type, id, index) };
    const item = isMessage ? messageItem(id, "in_progress") : reasoningItem(id);
    return (
      closing +
      this.#event("response.output_item.added", { output_index: index, item }) +
      (isMessage
        ? this.#event("response.content_part.added", { ...place, content_index: 0, part: textPart("") })
        : this.#event("response.reasoning_summary_part.added", { ...place, summary_index: 0, part: summaryPart("") }))
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

  /** Renders thinking without text, which consists only of its encrypted content. */
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

  /** Stores the thinking, and returns it encrypted. */
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

  /** Drops deltas of a call that has not started; the whole call follows. */
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
    const fields = { item_id: itemId, output_index: index, delta };
    if (tool.kind === "function") return this.#event("response.function_call_arguments.delta", fields);
    return tool.kind === "custom" ? this.#event("response.custom_tool_call_input.delta", fields) : "";
  }

  #closeCall(call: OpenCall, status: ItemStatus): string {
    this.#call = undefined;
    const { itemId, index, tool, streamed } = call;
    const place = { item_id: itemId, output_index: index };
    const closing = {
      function: () => this.#event("response.function_call_arguments.done", { ...place, arguments: streamed }),
      custom: () => this.#event("response.custom_tool_call_input.done", { ...place, input: streamed }),
      "tool-search": () => "",
    };
    return (
      closing[tool.kind]() + this.#done(index, callItem(call, status, streamed)) + this.step(this.#waiting.splice(0))
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

  #done(index: number, item: OutputItem, kept = item): string {
    this.#shown[index] = item;
    this.#kept[index] = kept;
    return this.#event("response.output_item.done", { output_index: index, item });
  }

  #state(state: AnswerState): ResponseObject {
    return responseObject(this.#head, { ...state, usage: this.#usage });
  }

  #event<Type extends keyof Events>(type: Type, fields: Events[Type]): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })}\n\n`;
  }
}

/** Returns an event up to the text of its delta, which comes last but for the number. */
function beforeDelta(type: OpenText["type"], id: string, index: number): string {
  const place = { item_id: id, output_index: index };
  const event =
    type === "message"
      ? { type: "response.output_text.delta", ...place, content_index: 0, logprobs: [], delta: "" }
      : { type: "response.reasoning_summary_text.delta", ...place, summary_index: 0, delta: "" };
  return `event: ${event.type}\ndata: ${JSON.stringify(event).slice(0, -'""}'.length)}`;
}

function mustWait(event: TurnEvent, callId: string): boolean {
  if (event.type === "usage" || event.type === "notice" || event.type === "done") return false;
  return !("id" in event && event.id === callId);
}

/** Returns the unsent rest of the arguments. JSON that was streamed is never corrected. */
function restOf({ streamed, tool }: OpenCall, written: string): string {
  if (tool.kind !== "custom") return streamed === "" ? written : "";
  return written.startsWith(streamed) ? written.slice(streamed.length) : "";
}

/** The end of thinking without a signature has no effect if no thinking came before. */
const isSomething = (event: TurnEvent): boolean =>
  event.type === "thinking-done" ? event.signature !== undefined : event.type !== "usage" && event.type !== "notice";
