import type OpenAI from "openai";
import { type Answer, type DialectAdapter, readEvents, type Said, type ServerEvent } from "../dialect.ts";
import { readError } from "./openai-errors.ts";

type Response_ = OpenAI.Responses.Response;
type Item = OpenAI.Responses.ResponseOutputItem;
type StreamEvent = OpenAI.Responses.ResponseStreamEvent;

export const openAiResponses: DialectAdapter = {
  name: "OpenAI Responses",
  schemaField: "text.format.schema",
  mistakes: [
    { fields: { model: 5 }, field: "model" },
    { fields: { stream: "yes" }, field: "stream" },
  ],
  path: () => "/v1/responses",
  lacks: { stop: "the dialect has no stop sequences" },
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  body: (question, isStream) => ({
    model: question.model ?? "gpt-5.5",
    input: question.messages.flatMap(toItems),
    stream: isStream,
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(question.system !== undefined && { instructions: question.system }),
    ...(question.tools && { tools: question.tools.map((tool) => ({ type: "function", strict: false, ...tool })) }),
    ...(question.effort && { reasoning: { effort: question.effort, summary: "auto" } }),
    ...(question.maxTokens && { max_output_tokens: question.maxTokens }),
    ...(question.schema && {
      text: { format: { type: "json_schema", name: "answer", strict: true, schema: question.schema } },
    }),
  }),
  answer: (body) => readResponse(body as Response_),
  streamed: (stream) => readStream(readEvents(stream)),
  error: readError,
};

function toItems(said: Said): readonly object[] {
  switch (said.type) {
    case "user": {
      const image = said.image ? [{ type: "input_image", image_url: said.image, detail: "auto" }] : [];
      return [{ role: "user", content: [{ type: "input_text", text: said.text }, ...image] }];
    }
    case "answer":
      return said.answer.echo as Item[];
    case "results":
      return said.results.map(({ id, text }) => ({ type: "function_call_output", call_id: id, output: text }));
  }
}

function readResponse({ status, output, usage, incomplete_details }: Response_): Answer {
  const calls = output.flatMap((item) =>
    item.type === "function_call"
      ? [{ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) as unknown }]
      : [],
  );
  const ends = { completed: calls.length > 0 ? "calls" : "stop", incomplete: "length" } as const;
  if ((status === "incomplete") !== (incomplete_details !== null)) throw new Error("It does not say why it ended.");
  return {
    text: output.map((item) => (item.type === "message" ? contentOf(item) : "")).join(""),
    thinking: output.map((item) => (item.type === "reasoning" ? contentOf(item) : "")).join(""),
    calls,
    finish: ends[status as keyof typeof ends],
    usage: usage && {
      input: usage.input_tokens,
      cached: usage.input_tokens_details.cached_tokens,
      output: usage.output_tokens,
    },
    error: undefined,
    echo: output,
  };
}

/** Strict about the order: begun, items each added, written and done with what was written, and one end. */
function readStream(events: readonly ServerEvent[]): Answer {
  const given = events.map(({ event, data }, number) => {
    const one = JSON.parse(data) as StreamEvent;
    if (one.type !== event) throw new Error(`The event ${one.type} is announced as ${event}.`);
    if (one.sequence_number !== number) throw new Error(`The event ${number} has the number ${one.sequence_number}.`);
    return one;
  });
  const names = given.map(({ type }) => type);
  if (names[0] !== "response.created" || names[1] !== "response.in_progress") throw new Error("It does not begin.");
  const written = new Map<string, string>();
  const items: Item[] = [];
  let last: Response_ | undefined;
  let error: string | undefined;
  for (const one of given.slice(2)) {
    if (last) throw new Error(`After the end there is ${one.type}.`);
    if (one.type === "response.output_item.added") {
      if (one.output_index !== written.size) throw new Error("An item is added out of order.");
      written.set(one.item.id ?? "", "");
    } else if ("delta" in one && "item_id" in one) {
      const before = written.get(one.item_id);
      if (before === undefined || items.some(({ id }) => id === one.item_id))
        throw new Error("A delta of no open item.");
      written.set(one.item_id, before + one.delta);
    } else if (one.type === "response.output_item.done") {
      if (written.get(one.item.id ?? "") !== contentOf(one.item)) throw new Error("What is done was not written.");
      items[one.output_index] = one.item;
    } else if (one.type === "error") {
      error = one.message;
    } else if ("response" in one) {
      last = one.response;
    }
  }
  if (!last) throw new Error("It has no end.");
  if ((last.status === "failed") !== (error !== undefined)) throw new Error("It fails without an error.");
  if (JSON.stringify(last.output) !== JSON.stringify(items)) throw new Error("The answer is not what was streamed.");
  const text = given.map((one) => (one.type === "response.output_text.delta" ? one.delta : "")).join("");
  return { ...readResponse(last), text, error };
}

function contentOf(item: Item): string {
  if (item.type === "function_call") return item.arguments;
  if (item.type === "custom_tool_call") return item.input;
  if (item.type === "reasoning") {
    if (!item.encrypted_content) throw new Error("It is not sealed.");
    return item.summary.map((part) => part.text).join("");
  }
  if (item.type !== "message") throw new Error(`An item of type ${item.type}.`);
  return item.content.map((part) => (part.type === "output_text" ? part.text : "")).join("");
}
