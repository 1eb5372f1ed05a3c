import type { ChatResponse, Message } from "ollama";
import type { Answer, DialectAdapter, Said } from "../dialect.ts";

type Line = ChatResponse & { readonly error?: string };

export const ollama: DialectAdapter = {
  name: "Ollama",
  lacks: {
    cached: "the dialect does not tell cached tokens apart",
    needsMessages: "a request without messages loads the model",
  },
  schemaField: "format",
  mistakes: [
    { fields: { model: 5 }, field: "model" },
    { fields: { stream: "yes" }, field: "stream" },
  ],
  path: () => "/api/chat",
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  body: (question, isStream) => ({
    model: question.model ?? "gpt-5.5",
    messages: [
      ...(question.system === undefined ? [] : [{ role: "system", content: question.system }]),
      ...question.messages.flatMap(toMessages),
    ],
    stream: isStream,
    keep_alive: "5m",
    ...(question.tools && { tools: question.tools.map((tool) => ({ type: "function", function: tool })) }),
    ...(question.effort && { think: question.effort }),
    ...(question.schema && { format: question.schema }),
    options: {
      ...(question.stop && { stop: [question.stop] }),
      ...(question.maxTokens && { num_predict: question.maxTokens }),
    },
  }),
  answer(body) {
    const line = body as Line;
    if (line.done !== true) throw new Error("The answer is not done.");
    return readAnswer(line.message, line);
  },
  streamed(stream) {
    const lines = stream.split("\n");
    if (lines.pop() !== "") throw new Error("The last line is not closed.");
    const message: Message = { role: "assistant", content: "" };
    let last: Line | undefined;
    for (const text of lines) {
      if (last) throw new Error("After the end there is another line.");
      const line = JSON.parse(text) as Line;
      if (line.error !== undefined || line.done) last = line;
      if (line.error !== undefined) continue;
      if (!line.model || Number.isNaN(Date.parse(String(line.created_at)))) throw new Error("No head.");
      message.content += line.message.content;
      if (line.message.thinking) message.thinking = (message.thinking ?? "") + line.message.thinking;
      if (line.message.tool_calls) message.tool_calls = [...(message.tool_calls ?? []), ...line.message.tool_calls];
    }
    return { ...readAnswer(message, last?.done ? last : undefined), error: last?.error };
  },
  error(body) {
    const { error } = body as { error: string };
    if (typeof error !== "string") throw new Error("Not an error of this dialect.");
    return { message: error };
  },
};

function toMessages(said: Said): readonly Message[] {
  switch (said.type) {
    case "user": {
      const images = said.image === undefined ? {} : { images: [said.image.replace(/^.*,/, "")] };
      return [{ role: "user", content: said.text, ...images }];
    }
    case "answer":
      return [said.answer.echo as Message];
    case "results":
      return said.results.map(({ name, text }) => ({ role: "tool", tool_name: name, content: text }));
  }
}

/** The ids of calls are left out of what is sent back, as many clients do. */
function readAnswer(message: Message, end: Line | undefined): Answer {
  const calls = (message.tool_calls ?? []).map((call) => ({
    id: (call as { readonly id?: string }).id ?? "",
    name: call.function.name,
    args: call.function.arguments,
  }));
  const { tool_calls: _, ...said } = message;
  return {
    text: message.content,
    thinking: message.thinking ?? "",
    calls,
    finish: end && (calls.length > 0 ? "calls" : end.done_reason === "length" ? "length" : "stop"),
    usage: end && { input: end.prompt_eval_count, output: end.eval_count },
    error: undefined,
    echo: {
      ...said,
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ name, args }) => ({ function: { name, arguments: args } })),
      }),
    },
  };
}
