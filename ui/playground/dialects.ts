import { asObject, asText, type Json, listOf } from "../json.ts";

/** One message of the conversation on the page. */
export interface ChatMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Data URLs. */
  readonly images: readonly string[];
}

export interface Question {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly ChatMessage[];
}

/** What an event of a stream adds to the answer. */
interface Piece {
  readonly text?: string | undefined;
  readonly thinking?: string | undefined;
  /** The name of a tool that the model calls. */
  readonly tool?: string | undefined;
  readonly error?: string | undefined;
}

/** One API of the gateway. */
export interface Dialect {
  readonly id: string;
  readonly title: string;
  path(model: string): string;
  body(question: Question): object;
  /** Reads the JSON of one event. */
  read(event: Json): Piece;
}

const MAX_TOKENS = 8192;

/** Splits a data URL into its type and its base64. */
function split(image: string): readonly [string, string] {
  const [, type = "", data = ""] = /^data:([^;,]*);base64,(.*)$/s.exec(image) ?? [];
  return [type, data];
}

const roles = (question: Question) => [
  ...(question.system === "" ? [] : [{ role: "system", text: question.system, images: [] }]),
  ...question.messages,
];

const errorOf = (event: Json): Piece => {
  const { error } = asObject(event);
  if (typeof error === "string") return { error };
  const message = asText(asObject(error)["message"]);
  return message === undefined ? {} : { error: message };
};

const chat: Dialect = {
  id: "chat",
  title: "Chat Completions",
  path: () => "/v1/chat/completions",
  body: (question) => ({
    model: question.model,
    stream: true,
    stream_options: { include_usage: true },
    messages: roles(question).map(({ role, text, images }) => ({
      role,
      content:
        images.length === 0
          ? text
          : [{ type: "text", text }, ...images.map((url) => ({ type: "image_url", image_url: { url } }))],
    })),
  }),
  read(event) {
    const delta = asObject(asObject(listOf(asObject(event)["choices"])[0])["delta"]);
    const call = asObject(asObject(listOf(delta["tool_calls"])[0])["function"]);
    return {
      ...errorOf(event),
      text: asText(delta["content"]),
      thinking: asText(delta["reasoning_content"]) ?? asText(delta["reasoning"]),
      tool: asText(call["name"]),
    };
  },
};

const responses: Dialect = {
  id: "responses",
  title: "Responses",
  path: () => "/v1/responses",
  body: ({ model, system, messages }) => ({
    model,
    stream: true,
    store: false,
    ...(system !== "" && { instructions: system }),
    reasoning: { summary: "auto" },
    input: messages.map(({ role, text, images }) => ({
      role,
      content: [
        { type: role === "user" ? "input_text" : "output_text", text },
        ...images.map((image_url) => ({ type: "input_image", image_url })),
      ],
    })),
  }),
  read(event) {
    const { type, delta, item, response, message } = asObject(event);
    if (type === "response.output_text.delta") return { text: asText(delta) };
    if (type === "response.reasoning_summary_text.delta" || type === "response.reasoning_text.delta")
      return { thinking: asText(delta) };
    if (type === "response.output_item.added" && asObject(item)["type"] === "function_call")
      return { tool: asText(asObject(item)["name"]) };
    if (type === "response.failed") return errorOf(response);
    if (type === "error") return { error: asText(message), ...errorOf(event) };
    return {};
  },
};

const messagesApi: Dialect = {
  id: "messages",
  title: "Messages",
  path: () => "/v1/messages",
  body: ({ model, system, messages }) => ({
    model,
    stream: true,
    max_tokens: MAX_TOKENS,
    ...(system !== "" && { system }),
    messages: messages.map(({ role, text, images }) => ({
      role,
      content: [
        ...images.map((image) => {
          const [media_type, data] = split(image);
          return { type: "image", source: { type: "base64", media_type, data } };
        }),
        { type: "text", text },
      ],
    })),
  }),
  read(event) {
    const { delta, content_block } = asObject(event);
    const block = asObject(content_block);
    return {
      ...errorOf(event),
      text: asText(asObject(delta)["text"]),
      thinking: asText(asObject(delta)["thinking"]),
      tool: block["type"] === "tool_use" ? asText(block["name"]) : undefined,
    };
  },
};

const gemini: Dialect = {
  id: "gemini",
  title: "Gemini",
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
  body: ({ system, messages }) => ({
    ...(system !== "" && { systemInstruction: { parts: [{ text: system }] } }),
    generationConfig: { thinkingConfig: { includeThoughts: true } },
    contents: messages.map(({ role, text, images }) => ({
      role: role === "user" ? "user" : "model",
      parts: [
        { text },
        ...images.map((image) => {
          const [mimeType, data] = split(image);
          return { inlineData: { mimeType, data } };
        }),
      ],
    })),
  }),
  read(event) {
    const content = asObject(asObject(listOf(asObject(event)["candidates"])[0])["content"]);
    const parts = listOf(content["parts"]).map(asObject);
    const join = (isThought: boolean) =>
      parts
        .filter(({ thought }) => (thought === true) === isThought)
        .map(({ text }) => asText(text) ?? "")
        .join("");
    const call = parts.find(({ functionCall }) => functionCall !== undefined)?.["functionCall"];
    return { ...errorOf(event), text: join(false), thinking: join(true), tool: asText(asObject(call)["name"]) };
  },
};

const ollama: Dialect = {
  id: "ollama",
  title: "Ollama",
  path: () => "/api/chat",
  body: (question) => ({
    model: question.model,
    stream: true,
    messages: roles(question).map(({ role, text, images }) => ({
      role,
      content: text,
      ...(images.length > 0 && { images: images.map((image) => split(image)[1]) }),
    })),
  }),
  read(event) {
    const { content, thinking, tool_calls } = asObject(asObject(event)["message"]);
    const call = asObject(asObject(listOf(tool_calls)[0])["function"]);
    return { ...errorOf(event), text: asText(content), thinking: asText(thinking), tool: asText(call["name"]) };
  },
};

/** The gateway's APIs, by their names for people. */
export const DIALECTS: readonly [Dialect, ...Dialect[]] = [chat, responses, messagesApi, gemini, ollama];
