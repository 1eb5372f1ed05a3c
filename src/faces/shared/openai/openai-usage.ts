import type { CompletionUsage } from "openai/resources/completions";
import type { Usage } from "../../../core/events.ts";
import type { Official, OwnUsage } from "../official.ts";

const NONE = { audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 };

/** Returns usage as OpenAI reports it. An estimate is marked. */
export const usageObject = (usage: Usage) =>
  ({
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: usage.cacheWrittenTokens,
      audio_tokens: 0,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens, ...NONE },
    ...(usage.isEstimate && { is_estimate: true }),
  }) satisfies Official<CompletionUsage> & OwnUsage;
