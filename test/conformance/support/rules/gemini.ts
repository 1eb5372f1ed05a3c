import type { GenerateContentResponse } from "@google/genai";
import { areSame, problems } from "./problems.ts";

export const wholeGemini = (answer: GenerateContentResponse): readonly string[] => {
  const { candidates, usageMetadata: usage, modelVersion, responseId } = answer;
  const figures = [usage?.promptTokenCount, usage?.candidatesTokenCount, usage?.thoughtsTokenCount];
  return problems({
    "it has a head": Boolean(modelVersion && responseId),
    "there is one candidate": candidates?.length === 1 && candidates[0]?.index === 0,
    "it says why it ended": candidates?.[0]?.finishReason !== undefined,
    "the usage adds up":
      !usage || figures.reduce<number>((sum, figure) => sum + (figure ?? 0), 0) === usage.totalTokenCount,
  });
};

export function geminiStream(all: (GenerateContentResponse & { error?: unknown })[]): readonly string[] {
  const chunks = all.filter(({ error }) => !error);
  const [last] = chunks.slice(-1);
  const isWhole = chunks.length === all.length;
  return [
    ...(last && isWhole ? wholeGemini(last) : []),
    ...problems({
      "an error is the last chunk": isWhole || all.findIndex(({ error }) => error) === all.length - 1,
      "all chunks are of one answer": areSame(
        chunks.map(({ responseId, modelVersion }) => `${responseId} ${modelVersion}`),
      ),
      "only the last chunk says why it ended": chunks
        .slice(0, isWhole ? -1 : undefined)
        .every(({ candidates }) => candidates?.[0]?.finishReason === undefined),
    }),
  ];
}
