import type { Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";

/**
 * Usage as Anthropic reports it: input that was read from or written to the cache is not part of `input_tokens`. Upstreams
 * other than Anthropic may count more cached tokens than input. An estimate of ours is marked.
 */
export const usageObject = (usage: Usage): JsonObject => ({
  input_tokens: Math.max(0, usage.inputTokens - usage.cachedTokens - usage.cacheWrittenTokens),
  cache_creation_input_tokens: usage.cacheWrittenTokens,
  cache_read_input_tokens: usage.cachedTokens,
  output_tokens: usage.outputTokens,
  output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  ...(usage.isEstimate && { is_estimate: true }),
});

/** Before the upstream has told anything. */
export const openingUsage = (inputTokens: number): JsonObject =>
  usageObject({
    inputTokens,
    outputTokens: 0,
    cachedTokens: 0,
    cacheWrittenTokens: 0,
    reasoningTokens: 0,
    isEstimate: true,
  });
