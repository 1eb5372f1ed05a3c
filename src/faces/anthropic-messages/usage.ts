import type { Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";

/**
 * Returns usage as Anthropic reports it: `input_tokens` excludes cached input. Other upstreams may report more cached
 * tokens than input. An estimate is marked.
 */
export const usageObject = (usage: Usage): JsonObject => ({
  input_tokens: Math.max(0, usage.inputTokens - usage.cachedTokens - usage.cacheWrittenTokens),
  cache_creation_input_tokens: usage.cacheWrittenTokens,
  cache_read_input_tokens: usage.cachedTokens,
  output_tokens: usage.outputTokens,
  output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  ...(usage.isEstimate && { is_estimate: true }),
});

/** Returns the usage before the upstream reports any. */
export const openingUsage = (inputTokens: number): JsonObject =>
  usageObject({
    inputTokens,
    outputTokens: 0,
    cachedTokens: 0,
    cacheWrittenTokens: 0,
    reasoningTokens: 0,
    isEstimate: true,
  });
