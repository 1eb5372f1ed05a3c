import type { DoneReason, Usage } from "../../core/events.ts";
import type { JsonObject, JsonValue } from "../../core/turn.ts";
import type { Body } from "../shared/unsupported-fields.ts";
import type { ResponsesRequest } from "./schema.ts";
import { usageObject } from "./usage.ts";

/** The fields that are known when an answer begins. */
export interface AnswerHead {
  readonly id: string;
  /** In seconds. */
  readonly createdAt: number;
  /** The fields of the request that the answer repeats. */
  readonly echo: JsonObject;
}

/** The progress of an answer. */
export interface AnswerState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly JsonValue[];
  readonly usage?: Usage | undefined;
  readonly incompleteBecause?: string;
  readonly error?: JsonObject;
}

export const responseObject = (head: AnswerHead, state: AnswerState): JsonObject => ({
  id: head.id,
  object: "response",
  created_at: head.createdAt,
  status: state.status,
  error: state.error ?? null,
  incomplete_details: state.incompleteBecause === undefined ? null : { reason: state.incompleteBecause },
  output: state.output,
  usage: state.usage ? usageObject(state.usage) : null,
  ...head.echo,
});

/** Why an answer is incomplete. Undefined: it is complete. */
const INCOMPLETE_REASONS = {
  stop: undefined,
  "tool-calls": undefined,
  length: "max_output_tokens",
  "content-filter": "content_filter",
} as const satisfies Record<DoneReason, string | undefined>;

export const incompleteReason = (reason: DoneReason) => INCOMPLETE_REASONS[reason];

/** Returns the request's fields for the answer. Tools and formats are repeated as received. */
export function echoOf(request: ResponsesRequest, body: Body): JsonObject {
  const as = <T extends JsonValue>(value: unknown, fallback: T) => (value ?? fallback) as JsonValue;
  return {
    model: request.model,
    background: false,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
    service_tier: "default",
    store: request.store ?? true,
    temperature: request.temperature ?? null,
    text: { format: { type: "text" }, ...(as(body["text"], {}) as JsonObject) },
    tool_choice: as(body["tool_choice"], "auto"),
    tools: as(body["tools"], []),
    top_logprobs: 0,
    top_p: request.top_p ?? null,
    truncation: "disabled",
    user: null,
  };
}
