import type { Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";

/** Usage in Anthropic's words, where cached input is counted apart; a figure of our own says so. */
export const usageObject = (usage: Usage): JsonObject => ({
  input_tokens: usage.inputTokens - usage.cachedTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: usage.cachedTokens,
  output_tokens: usage.outputTokens,
  output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  ...(usage.isEstimate && { is_estimate: true }),
});

/** Before the upstream has told anything. */
export const openingUsage = (inputTokens: number): JsonObject =>
  usageObject({ inputTokens, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0, isEstimate: true });
