import type { Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";

/** Returns usage as the Responses API reports it. An estimate is marked. */
export const usageObject = (usage: Usage): JsonObject => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens,
  ...(usage.isEstimate && { is_estimate: true }),
});
