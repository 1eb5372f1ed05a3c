import type OpenAI from "openai";
import { type Answer, type DialectAdapter, type Question, readEvents, type Said } from "../dialect.ts";
import { readError } from "./openai-errors.ts";

type Message = OpenAI.ChatCompletionMessageParam;
type Completion = OpenAI.ChatCompletion;
type Chunk = OpenAI.ChatCompletionChunk;

const FINISH = { stop: "stop", length: "length", tool_calls: "calls" } as const;

export const openAiChat: DialectAdapter = {
  name: "OpenAI Chat Completions",
  schemaField: "response_format.json_schema.schema",
  mistakes: [
    { fields: { model: 5 }, field: "model" },
    { fields: { stream: "yes" }, field: "stream" },
  ],
  path: () => "/v1/chat/completions",
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  body: (question, isStream) => ({
    model: question.model ?? "gpt-5.5",
    messages: [
      ...(question.system === undefined ? [] : [{ role: "system", content: question.system }]),
      ...question.messages.flatMap(toMessages),
    ],
    stream: isStream,
    ...(isStream && { stream_options: { include_usage: true } }),
    ...(question.tools && { tools: question.tools.map((tool) => ({ type: "function", function: tool })) }),
    ...(question.effort && { reasoning_effort: question.effort }),
    ...(question.stop && { stop: question.stop }),
    ...(question.maxTokens && { max_completion_tokens: question.maxTokens }),
    ...formatOf(question),
  }),
  answer(body) {
    const { choices, usage } = body as Completion;
    const [choice] = choices;
    if (!choice) throw new Error("There is no answer.");
    return readAnswer(choice.message, choice.finish_reason, usage);
  },
  streamed(stream) {
    const events = readEvents(stream);
    const message = { role: "assistant", content: "", reasoning_content: "" };
    const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
    let finish: string | undefined;
    let usage: Completion["usage"];
    let error: string | undefined;
    for (const { data } of events) {
      if (data === "[DONE]") break;
      const chunk = JSON.parse(data) as Chunk & { readonly error?: { readonly message: string } };
      if (chunk.error) {
        error = chunk.error.message;
        break;
      }
      usage = chunk.usage ?? usage;
      const [choice] = chunk.choices;
      if (!choice) continue;
      const delta = choice.delta as Chunk["choices"][0]["delta"] & { readonly reasoning_content?: string };
      message.content += delta.content ?? "";
      message.reasoning_content += delta.reasoning_content ?? "";
      for (const { index, id = "", type, function: called } of delta.tool_calls ?? []) {
        if ((type as string) === "custom") continue;
        calls[index] ??= { id, type: "function", function: { name: called?.name ?? "", arguments: "" } };
        calls[index].function.arguments += called?.arguments ?? "";
      }
      finish = choice.finish_reason ?? finish;
    }
    const isDone = events.at(-1)?.data === "[DONE]";
    if (isDone !== (finish !== undefined)) throw new Error("[DONE] stands at the end of every answer and of no other.");
    const whole = { ...message, refusal: null, ...(calls.length > 0 && { tool_calls: calls }) };
    return { ...readAnswer(whole as Completion["choices"][0]["message"], finish, usage), error };
  },
  error: readError,
};

function toMessages(said: Said): readonly Message[] {
  switch (said.type) {
    case "user": {
      const text = { type: "text", text: said.text } as const;
      const image = said.image && ({ type: "image_url", image_url: { url: said.image } } as const);
      return [{ role: "user", content: image ? [text, image] : said.text }];
    }
    case "answer":
      return [said.answer.echo as Message];
    case "results":
      return said.results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
  }
}

const formatOf = ({ schema }: Question): object =>
  schema ? { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } } : {};

function readAnswer(
  message: Completion["choices"][0]["message"] & { readonly reasoning_content?: string },
  finish: string | undefined,
  usage: Completion["usage"],
): Answer {
  return {
    text: message.content ?? "",
    thinking: message.reasoning_content ?? "",
    calls: (message.tool_calls ?? []).flatMap((call) =>
      call.type === "function"
        ? [{ id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) }]
        : [],
    ),
    finish: FINISH[finish as keyof typeof FINISH],
    usage: usage && {
      input: usage.prompt_tokens,
      cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage.completion_tokens,
    },
    error: undefined,
    echo: message,
  };
}
