import type Anthropic from "@anthropic-ai/sdk";
import { type Answer, checkType, type DialectAdapter, readEvents, type Said, type ServerEvent } from "../dialect.ts";

type Block = Anthropic.ContentBlock;
type StreamEvent =
  | Anthropic.RawMessageStreamEvent
  | { readonly type: "ping" }
  | { readonly type: "error"; readonly error: { readonly message: string } };

const FINISH = { end_turn: "stop", stop_sequence: "stop", max_tokens: "length", tool_use: "calls" } as const;

const ERROR_TYPES = {
  400: "invalid_request_error",
  401: "authentication_error",
  413: "request_too_large",
  529: "overloaded_error",
};

export const anthropicMessages: DialectAdapter = {
  name: "Anthropic Messages",
  schemaField: "output_config.format.schema",
  mistakes: [
    { fields: { model: 5 }, field: "model" },
    { fields: { stream: "yes" }, field: "stream" },
  ],
  statuses: { 503: 529 },
  path: () => "/v1/messages?beta=true",
  headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  body: (question, isStream) => ({
    model: question.model ?? "gpt-5.5",
    max_tokens: question.maxTokens ?? 32_000,
    messages: question.messages.map(toMessage),
    stream: isStream,
    ...(question.system !== undefined && {
      system: [{ type: "text", text: question.system, cache_control: { type: "ephemeral" } }],
    }),
    ...(question.tools && {
      tools: question.tools.map(({ name, parameters }) => ({ name, input_schema: parameters })),
    }),
    ...(question.stop && { stop_sequences: [question.stop] }),
    ...((question.effort || question.schema) && {
      output_config: {
        ...(question.effort && { effort: question.effort }),
        ...(question.schema && { format: { type: "json_schema", schema: question.schema } }),
      },
    }),
  }),
  answer: (body) => readMessage(body as Anthropic.Message),
  streamed: (stream) => readStream(readEvents(stream)),
  error(body, status) {
    const { type, error, request_id } = body as Anthropic.ErrorResponse;
    if (type !== "error" || typeof request_id !== "string") throw new Error("Not an error of this dialect.");
    checkType(error.type, status, ERROR_TYPES);
    return error;
  },
};

function toMessage(said: Said): Anthropic.MessageParam {
  switch (said.type) {
    case "user": {
      const [, media_type, data] = /^data:([^;]+);base64,(.*)$/.exec(said.image ?? "") ?? [];
      const image = data && { type: "image", source: { type: "base64", media_type, data } };
      const content = [{ type: "text", text: said.text }, ...(image ? [image] : [])];
      return { role: "user", content: content as Anthropic.ContentBlockParam[] };
    }
    case "answer":
      return { role: "assistant", content: said.answer.echo as Anthropic.ContentBlockParam[] };
    case "results":
      return {
        role: "user",
        content: said.results.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })),
      };
  }
}

function readMessage({ content, stop_reason, usage }: Anthropic.Message): Answer {
  const texts = (type: Block["type"], field: string) =>
    content.map((block) => (block.type === type ? (block as unknown as Record<string, string>)[field] : "")).join("");
  return {
    text: texts("text", "text"),
    thinking: texts("thinking", "thinking"),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, args: block.input }] : [],
    ),
    finish: FINISH[stop_reason as keyof typeof FINISH],
    usage: {
      input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      cached: usage.cache_read_input_tokens ?? 0,
      output: usage.output_tokens,
    },
    error: undefined,
    echo: content,
  };
}

/** Strict about the order: a start, blocks one after the other, each begun and ended, the reason, the stop. */
function readStream(events: readonly ServerEvent[]): Answer {
  let message: Anthropic.Message | undefined;
  let open: { readonly block: Block; json: string } | undefined;
  let isOver = false;
  let error: string | undefined;
  for (const { event, data } of events) {
    const given = JSON.parse(data) as StreamEvent;
    if (event !== given.type) throw new Error(`The event ${given.type} is announced as ${event}.`);
    if (given.type === "ping") continue;
    if (isOver || error !== undefined) throw new Error(`After the end there is ${given.type}.`);
    if (given.type === "error") {
      error = given.error.message;
    } else if (given.type === "message_start") {
      if (message) throw new Error("It begins twice.");
      message = given.message;
    } else if (!message) {
      throw new Error(`Before its start there is ${given.type}.`);
    } else if (given.type === "content_block_start") {
      if (open || given.index !== message.content.length) throw new Error("A block begins where none may.");
      message.content.push(given.content_block);
      open = { block: given.content_block, json: "" };
    } else if (given.type === "content_block_delta") {
      if (!open || given.index !== message.content.length - 1) throw new Error("A delta of no open block.");
      open.json += apply(given.delta, open.block);
    } else if (given.type === "content_block_stop") {
      if (!open || given.index !== message.content.length - 1) throw new Error("An end of no open block.");
      if (open.block.type === "tool_use") open.block.input = JSON.parse(open.json || "{}");
      if (open.block.type === "thinking" && open.block.signature === "") throw new Error("It is not signed.");
      open = undefined;
    } else if (given.type === "message_delta") {
      if (open) throw new Error("The message ends within a block.");
      Object.assign(message, given.delta);
      Object.assign(message.usage, given.usage);
    } else if (given.type === "message_stop") {
      if (message.stop_reason === null) throw new Error("It ends without a reason.");
      isOver = true;
    }
  }
  if (!message) throw new Error("There is no message.");
  if (!isOver && error === undefined) throw new Error("It has no end.");
  return { ...readMessage(message), error };
}

/** What is part of a call's JSON, if anything. */
function apply(delta: Anthropic.RawContentBlockDelta, block: Block): string {
  if (delta.type === "text_delta" && block.type === "text") block.text += delta.text;
  else if (delta.type === "thinking_delta" && block.type === "thinking") block.thinking += delta.thinking;
  else if (delta.type === "signature_delta" && block.type === "thinking") block.signature += delta.signature;
  else if (delta.type === "input_json_delta" && block.type === "tool_use") return delta.partial_json;
  else throw new Error(`A ${delta.type} in a block of ${block.type}.`);
  return "";
}
