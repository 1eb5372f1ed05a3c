import type { Message as WireMessage } from "@bufbuild/protobuf";
import type { TurnEvent } from "../../../core/events.ts";
import { estimateInputTokens } from "../../../core/rules/usage-estimate.ts";
import type { Message, Turn } from "../../../core/turn.ts";
import type { ConversationStateStructure } from "../../../gen/agent/v1/conversation_pb.ts";
import type { ExecServerMessage } from "../../../gen/agent/v1/exec_pb.ts";
import type { InteractionUpdate, PartialToolCallUpdate } from "../../../gen/agent/v1/interaction_pb.ts";
import type { KvServerMessage } from "../../../gen/agent/v1/kv_pb.ts";
import type { AgentServerMessage } from "../../../gen/agent/v1/run_pb.ts";
import type { Delta } from "../../../wire/agent/delta.ts";
import type { Blobs } from "../../../wire/agent/state/blobs.ts";
import { replyToExec } from "../replies/reply-to-exec.ts";
import { replyToKv } from "../replies/reply-to-kv.ts";
import { replyToQuery } from "../replies/reply-to-query.ts";
import type { Offer } from "../request/offer.ts";
import { type OwedResult, OwedResults } from "../request/suspended.ts";
import type { NamedCall } from "./pending-calls.ts";
import { Shown } from "./shown.ts";
import type { Outgoing } from "./stream.ts";
import { StreamedArgs } from "./streamed-args.ts";
import { runningUsage, usageOf } from "./usage.ts";

/** What the run has to do after a message of the backend. */
export type Effect =
  /** A part of the answer: the model has made progress. */
  | { readonly type: "show"; readonly event: TurnEvent }
  /** Metadata of the answer. */
  | { readonly type: "tell"; readonly event: TurnEvent }
  | { readonly type: "send"; readonly message: Outgoing }
  | { readonly type: "call"; readonly call: NamedCall }
  | { readonly type: "calls-announced"; readonly count: number }
  | { readonly type: "call-completed"; readonly callId: string }
  /** A settled one contains all calls so far with their results. From another one the backend would make calls again. */
  | { readonly type: "checkpoint"; readonly isSettled: boolean }
  | { readonly type: "turn-ended" }
  | { readonly type: "unknown"; readonly kind: string; readonly message: WireMessage };

const NONE: readonly Effect[] = [];

/** Interprets the backend's messages, and records what was shown and the last checkpoint. No I/O, no timers. */
export class AnswerReader {
  readonly shown = new Shown();
  readonly #turn: Turn;
  readonly #offer: Offer;
  readonly #streamed = new StreamedArgs();
  #settled: ConversationStateStructure | undefined;
  #suspended: ConversationStateStructure | undefined;
  #last: ConversationStateStructure | undefined;
  #owed = new OwedResults();
  /** How many calls had an id of the backend. Created on demand. */
  #callsById: Map<string, number> | undefined;
  #countedTokens = 0;
  /** The counted tokens before the last results. */
  #countedBefore = 0;
  /** Estimated input tokens. */
  #readTokens: number | undefined;

  constructor(turn: Turn, offer: Offer) {
    this.#turn = turn;
    this.#offer = offer;
  }

  /** The last settled checkpoint. */
  get checkpoint(): ConversationStateStructure | undefined {
    return this.#settled;
  }

  /** The last staged checkpoint, as long as its calls are the last thing that the model has said. */
  get suspended(): ConversationStateStructure | undefined {
    return this.#suspended;
  }

  /** True if the backend has not asked for all the results that the turn waited for. */
  get isOwed(): boolean {
    return !this.#owed.isEmpty;
  }

  /** Begins from another state. The backend has to ask for these results. */
  beginFrom(owed: readonly OwedResult[]): void {
    this.#owed = new OwedResults(owed);
    this.#settled = undefined;
    this.#suspended = undefined;
  }

  /** True if the backend has counted tokens, or the client was shown something. */
  get hasOutput(): boolean {
    return this.#countedTokens > 0 || this.shown.hasAny;
  }

  /** Begins the next answer, after this history. */
  begin(history: readonly Message[]): void {
    this.shown.begin(history);
    this.#suspended = undefined;
    this.#countedBefore = this.#countedTokens;
  }

  showDelta({ kind, text }: Delta): TurnEvent {
    this.shown.mark();
    this.#suspended = undefined;
    if (kind === "text") this.shown.text(text);
    return { type: kind, text };
  }

  step(whole: AgentServerMessage, blobs: Blobs): readonly Effect[] {
    const { message } = whole;
    switch (message.case) {
      case "interactionUpdate":
        return this.#readUpdate(message.value);
      case "execServerMessage":
        return this.#readExec(message.value);
      case "kvServerMessage":
        return readKv(message.value, blobs);
      case "conversationCheckpointUpdate":
        return this.#readCheckpoint(message.value);
      case "interactionQuery": {
        const { value: query } = message;
        const reply: Effect = { type: "send", message: { case: "interactionResponse", value: replyToQuery(query) } };
        return query.query.case === undefined ? [unknown("interaction query", query), reply] : [reply];
      }
      case "execServerControlMessage":
        return NONE;
      case undefined:
        return [unknown("server message", whole)];
    }
  }

  #readCheckpoint(state: ConversationStateStructure): readonly Effect[] {
    const isSettled = state.pendingToolCalls.length === 0;
    this.#last = state;
    if (isSettled) this.#settled = state;
    this.#suspended = isSettled ? undefined : state;
    return [{ type: "checkpoint", isSettled }];
  }

  #readUpdate(update: InteractionUpdate): readonly Effect[] {
    const { message } = update;
    switch (message.case) {
      case "textDelta": {
        const { text, isServerNotice } = message.value;
        if (isServerNotice) return [tell({ type: "notice", code: "server_notice", text })];
        return [{ type: "show", event: this.showDelta({ kind: "text", text }) }];
      }
      case "thinkingDelta":
        return [{ type: "show", event: this.showDelta({ kind: "thinking", text: message.value.text }) }];
      case "thinkingCompleted":
        return [tell({ type: "thinking-done", durationMs: message.value.thinkingDurationMs })];
      case "tokenDelta":
        this.#countedTokens += message.value.tokens;
        return this.#tellCount();
      case "routedModel":
        return [tell({ type: "notice", code: "routed_model", text: message.value.displayName })];
      case "partialToolCall":
        return this.#readPartialCall(message.value);
      case "toolCallCompleted":
        return [{ type: "call-completed", callId: message.value.callId }];
      case "toolRequestsListed":
        return [{ type: "calls-announced", count: message.value.callCount }];
      case "turnEnded": {
        const usage = usageOf(message.value, this.#last, this.#countedTokens);
        return [...(usage ? [tell({ type: "usage", usage })] : NONE), { type: "turn-ended" }];
      }
      case undefined:
        return [unknown("update", update)];
      default:
        // Progress messages, which no client needs.
        return NONE;
    }
  }

  /** Reports the growing count, for the rule that limits the output tokens. */
  #tellCount(): readonly Effect[] {
    if (this.#turn.maxOutputTokens === undefined) return NONE;
    this.#readTokens ??= estimateInputTokens(this.#turn);
    return [tell({ type: "usage", usage: runningUsage(this.#readTokens, this.#countedTokens - this.#countedBefore) })];
  }

  /** Streams the arguments of the client's tools. Calls of the backend's own tools are not shown. */
  #readPartialCall({ toolCall, argsTextDelta }: PartialToolCallUpdate): readonly Effect[] {
    const args = toolCall?.tool.case === "mcpToolCall" ? toolCall.tool.value.args : undefined;
    const name = args && this.#offer.nameOf(args);
    if (!args || name === undefined || this.isOwed) return NONE;
    this.shown.mark();
    const { toolCallId: id } = args;
    const events: TurnEvent[] = this.#streamed.has(id) ? [] : [{ type: "tool-call-start", id, name }];
    const json = this.#streamed.step(id, argsTextDelta);
    if (json !== "") events.push({ type: "tool-call-delta", id, json });
    return events.map((event) => ({ type: "show", event }));
  }

  #readExec(exec: ExecServerMessage): readonly Effect[] {
    const outcome = replyToExec(exec, this.#offer);
    if (outcome.type === "reply") {
      const replies = outcome.messages.map((message): Effect => ({ type: "send", message }));
      return exec.message.case === undefined ? [unknown("exec request", exec), ...replies] : replies;
    }
    const { name, args } = outcome.call;
    const result = this.#owed.take(name, args);
    if (result) return outcome.call.reply(result).map((message) => ({ type: "send", message }));
    const call = { ...outcome.call, id: this.#idFor(outcome.call.toolCallId) };
    this.shown.mark();
    this.shown.call({ type: "tool-call", id: call.id, name, args });
    return [{ type: "call", call }];
  }

  /** Returns an id that no other call of the run has. */
  #idFor(toolCallId: string): string {
    this.#callsById ??= new Map();
    const count = (this.#callsById.get(toolCallId) ?? 0) + 1;
    this.#callsById.set(toolCallId, count);
    return count === 1 ? toolCallId : `${toolCallId}#${count}`;
  }
}

function readKv(kv: KvServerMessage, blobs: Blobs): readonly Effect[] {
  const message = replyToKv(kv, blobs);
  return [message ? { type: "send", message } : unknown("kv request", kv)];
}

const tell = (event: TurnEvent): Effect => ({ type: "tell", event });

const unknown = (kind: string, message: WireMessage): Effect => ({ type: "unknown", kind, message });
