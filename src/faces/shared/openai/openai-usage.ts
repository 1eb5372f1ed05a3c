import type { Usage } from "../../../core/events.ts";
import type { JsonObject } from "../../../core/turn.ts";

/** Returns usage as OpenAI reports it. An estimate is marked. */
export const usageObject = (usage: Usage): JsonObject => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  ...(usage.isEstimate && { is_estimate: true }),
});
