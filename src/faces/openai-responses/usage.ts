import type { ResponseUsage } from "openai/resources/responses/responses";
import type { Usage } from "../../core/events.ts";
import type { Official, OwnUsage } from "../shared/official.ts";

/** Returns usage as the Responses API reports it. An estimate is marked. */
export const usageObject = (usage: Usage) =>
  ({
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWrittenTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
    ...(usage.isEstimate && { is_estimate: true }),
  }) satisfies Official<ResponseUsage> & OwnUsage;
