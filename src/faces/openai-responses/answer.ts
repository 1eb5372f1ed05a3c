import type * as openai from "openai/resources/responses/responses";
import type { DoneReason, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Official } from "../shared/official.ts";
import type { Body } from "../shared/unsupported-fields.ts";
import type { OutputItem } from "./output-item.ts";
import type { ResponsesRequest } from "./schema.ts";
import { usageObject } from "./usage.ts";

/** The official type, without what OpenAI's client adds, and with what the service sends besides (Open Responses requires it). */
export type ResponseObject = Official<Omit<openai.Response, "output_text" | "usage" | "user">> &
  Readonly<Record<"frequency_penalty" | "presence_penalty", number>> & {
    readonly usage: Official<openai.ResponseUsage> | null;
    readonly user: null;
    readonly store: boolean;
  };

/** The fields that are known when an answer begins. */
export interface AnswerHead {
  readonly id: string;
  /** In seconds. */
  readonly createdAt: number;
  /** The fields of the request that the answer repeats. */
  readonly echo: Echo;
}

/** The progress of an answer. */
export interface AnswerState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly OutputItem[];
  readonly usage?: Usage | undefined;
  readonly incompleteBecause?: "max_output_tokens" | "content_filter";
  readonly error?: Official<openai.ResponseError>;
}

type Echo = ReturnType<typeof echoOf>;

export const responseObject = (head: AnswerHead, state: AnswerState): ResponseObject => ({
  id: head.id,
  object: "response",
  created_at: head.createdAt,
  completed_at: state.status === "completed" ? Math.max(head.createdAt, Math.floor(Date.now() / 1000)) : null,
  status: state.status,
  error: state.error ?? null,
  incomplete_details: state.incompleteBecause === undefined ? null : { reason: state.incompleteBecause },
  access_programs: null,
  moderation: null,
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

/** Returns the request's fields for the answer, with the service's defaults for those that are left out or have no effect. */
export function echoOf(request: ResponsesRequest, body: Body, hostedTypes: readonly string[]) {
  const { format } = (body["text"] ?? {}) as { readonly format?: JsonObject | null };
  const tools = (body["tools"] ?? []) as readonly (JsonObject & { readonly type: string })[];
  return {
    model: request.model,
    background: false,
    instructions: request.instructions ?? null,
    frequency_penalty: 0,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: (request.metadata ?? {}) as ResponseObject["metadata"],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: 0,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ? "auto" : null },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: "default",
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: formatOf(format), verbosity: "medium" },
    tool_choice: (body["tool_choice"] ?? "auto") as ResponseObject["tool_choice"],
    tools: tools.filter(({ type }) => !hostedTypes.includes(type)).map(toolOf),
    top_logprobs: 0,
    top_p: request.top_p ?? 1,
    truncation: "disabled",
    user: null,
  } as const;
}

/** Returns the echo without an option that the upstream ignores. */
export const withoutOption = (echo: Echo, name: string): Echo => ({
  ...echo,
  ...((name === "temperature" || name === "top_p") && { [name]: 1 }),
  ...(name === "effort" && { reasoning: { ...echo.reasoning, effort: null } }),
});

/** The service adds a description that is null, which the type does not know. */
const formatOf = (format: JsonObject | null | undefined) =>
  (format?.["type"] === "json_schema"
    ? { description: null, strict: false, ...format }
    : (format ?? { type: "text" })) as NonNullable<NonNullable<ResponseObject["text"]>["format"]>;

/** Arguments are not checked against the schema, so no tool is strict. */
const toolOf = (tool: JsonObject) =>
  (tool["type"] === "function"
    ? { description: null, parameters: null, ...tool, strict: false }
    : tool) as Official<openai.Tool>;
