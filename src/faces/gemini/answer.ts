import type * as google from "@google/genai";
import type { DoneReason, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import { asJson, type Official } from "../shared/official.ts";
import type { CalledTool } from "../shared/tools/call-memory.ts";

/** What the chunks of one answer have in common. */
export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  readonly includesThoughts: boolean;
  keepCalls(calls: readonly CalledTool[]): void;
}

/** Google has no reason of its own for function calls. */
const FINISH_REASONS = {
  stop: "STOP",
  length: "MAX_TOKENS",
  "tool-calls": "STOP",
  "content-filter": "SAFETY",
} as const satisfies Record<DoneReason, string>;

interface End {
  readonly reason: DoneReason;
  readonly usage: Usage | undefined;
}

export type Part = Official<google.Part>;

/** Returns a chunk of an answer, or a whole one. */
export const response = ({ id, model }: AnswerHead, parts: readonly Part[], end?: End): JsonObject =>
  asJson({
    candidates: [
      { content: { parts, role: "model" }, ...(end && { finishReason: FINISH_REASONS[end.reason] }), index: 0 },
    ],
    ...(end?.usage && { usageMetadata: usageMetadata(end.usage) }),
    modelVersion: model,
    responseId: id,
  } satisfies Partial<Official<google.GenerateContentResponse>>);

/** Thoughts are counted apart from the answer. */
const usageMetadata = (usage: Usage): Official<google.GenerateContentResponseUsageMetadata> => ({
  promptTokenCount: usage.inputTokens,
  candidatesTokenCount: Math.max(0, usage.outputTokens - usage.reasoningTokens),
  totalTokenCount: usage.inputTokens + usage.outputTokens,
  cachedContentTokenCount: usage.cachedTokens,
  thoughtsTokenCount: usage.reasoningTokens,
});

export const callPart = ({ id, name, args }: CalledTool): Part => ({ functionCall: { id, name, args } });
