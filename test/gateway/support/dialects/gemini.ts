import type { Content, GenerateContentResponse, Part } from "@google/genai";
import { type Answer, checkType, type DialectAdapter, readEvents, type Said } from "../dialect.ts";

type Chunk = GenerateContentResponse & { readonly error?: { readonly message: string } };

const STATUSES = { 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED" };

export const gemini: DialectAdapter = {
  name: "Gemini",
  schemaField: "generationConfig.responseJsonSchema",
  mistakes: [
    { fields: { contents: 5 }, field: "contents" },
    { fields: { generationConfig: "yes" }, field: "generationConfig" },
  ],
  statuses: { 413: 400 },
  path: ({ model = "gpt-5.5" }, isStream) =>
    `/v1beta/models/${model}:${isStream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  headers: (key) => ({ "x-goog-api-key": key }),
  body: (question) => ({
    contents: question.messages.map(toContent),
    ...(question.system !== undefined && { systemInstruction: { parts: [{ text: question.system }] } }),
    ...(question.tools && {
      tools: [
        {
          functionDeclarations: question.tools.map(({ name, parameters }) => ({
            name,
            parametersJsonSchema: parameters,
          })),
        },
      ],
    }),
    generationConfig: {
      thinkingConfig: {
        includeThoughts: true,
        ...(question.effort && { thinkingLevel: question.effort.toUpperCase() }),
      },
      ...(question.stop && { stopSequences: [question.stop] }),
      ...(question.maxTokens && { maxOutputTokens: question.maxTokens }),
      ...(question.schema && { responseMimeType: "application/json", responseJsonSchema: question.schema }),
    },
  }),
  answer: (body) => readChunks([body as Chunk]),
  streamed: (stream) => readChunks(readEvents(stream).map(({ data }) => JSON.parse(data) as Chunk)),
  error(body, status) {
    const { error } = body as { error: { code: number; message: string; status: string; details: object[] } };
    if (typeof error.code !== "number" || !Array.isArray(error.details)) {
      throw new Error("Not an error of this dialect.");
    }
    checkType(error.status, status, STATUSES);
    return error;
  },
};

function toContent(said: Said): Content {
  switch (said.type) {
    case "user": {
      const [, mimeType = "", data] = /^data:([^;]+);base64,(.*)$/.exec(said.image ?? "") ?? [];
      return { role: "user", parts: [{ text: said.text }, ...(data ? [{ inlineData: { mimeType, data } }] : [])] };
    }
    case "answer":
      return said.answer.echo as Content;
    case "results":
      return {
        role: "user",
        parts: said.results.map(({ id, name, text }) => ({
          functionResponse: { id, name, response: { output: text } },
        })),
      };
  }
}

/** Strict about the end: one reason, in the last chunk, with the usage. */
function readChunks(chunks: readonly Chunk[]): Answer {
  const parts: Part[] = [];
  let last: Chunk | undefined;
  for (const chunk of chunks) {
    if (last) throw new Error("After the end there is another chunk.");
    const [candidate] = chunk.candidates ?? [];
    if (chunk.error || candidate?.finishReason) last = chunk;
    if (chunk.error) continue;
    if (candidate?.content?.role !== "model" || !candidate.content.parts?.length)
      throw new Error("There is no content.");
    if (!chunk.modelVersion || !chunk.responseId) throw new Error("There is no head.");
    parts.push(...candidate.content.parts);
  }
  const finish = last?.candidates?.[0]?.finishReason;
  const calls = parts.flatMap(({ functionCall }) =>
    functionCall ? [{ id: functionCall.id ?? "", name: functionCall.name ?? "", args: functionCall.args }] : [],
  );
  const { usageMetadata: usage } = last ?? {};
  const textOf = (isThought: boolean) =>
    parts.map(({ text, thought = false }) => (thought === isThought ? (text ?? "") : "")).join("");
  return {
    text: textOf(false),
    thinking: textOf(true),
    calls,
    finish: finish && (calls.length > 0 ? "calls" : finish === "MAX_TOKENS" ? "length" : "stop"),
    usage: usage && {
      input: usage.promptTokenCount ?? 0,
      cached: usage.cachedContentTokenCount ?? 0,
      output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    },
    error: last?.error?.message,
    echo: { role: "model", parts },
  };
}
