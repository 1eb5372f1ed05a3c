import type { Message, RawContentBlockStartEvent, RawMessageDeltaEvent } from "@anthropic-ai/sdk/resources/messages";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Official } from "../shared/official.ts";
import { openingUsage, usageObject } from "./usage.ts";

/** The fields that open an answer. */
export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** An estimate for `message_start`, which is sent before the upstream reports usage. */
  readonly inputTokens: () => number;
  /** True if thinking is signed but its text is not sent. */
  readonly omitsThinking: boolean;
}

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
} as const satisfies Record<DoneReason, string>;

type Done = Extract<TurnEvent, { type: "done" }>;

/** Returns why the answer ended, and at which stop sequence; before its end, that it has not. */
export const stopFields = (done?: Done) =>
  ({
    container: null,
    stop_details: null,
    stop_reason: done ? (done.stopSequence === undefined ? STOP_REASONS[done.reason] : "stop_sequence") : null,
    stop_sequence: done?.stopSequence ?? null,
  }) satisfies Official<RawMessageDeltaEvent.Delta>;

type ContentBlock = Official<RawContentBlockStartEvent["content_block"]>;

export const textBlock = (text: string) => ({ type: "text", text, citations: null }) satisfies ContentBlock;

export const thinkingBlock = (thinking: string, signature: string) =>
  ({ type: "thinking", thinking, signature }) satisfies ContentBlock;

export const redactedBlock = (data: string) => ({ type: "redacted_thinking", data }) satisfies ContentBlock;

export const toolUseBlock = (id: string, name: string, input: JsonObject) =>
  ({ type: "tool_use", id, name, input, caller: { type: "direct" } }) satisfies ContentBlock;

export type Block = ReturnType<typeof textBlock | typeof thinkingBlock | typeof redactedBlock | typeof toolUseBlock>;

/** Returns a whole message, or with no `done` the one that opens a stream. */
export const messageObject = (head: AnswerHead, content: readonly Block[], usage?: Usage, done?: Done) =>
  ({
    id: head.id,
    type: "message",
    role: "assistant",
    model: head.model,
    content,
    diagnostics: null,
    ...stopFields(done),
    usage: usageObject(usage ?? openingUsage(head.inputTokens())),
  }) satisfies Official<Message>;
