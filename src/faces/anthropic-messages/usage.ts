import type { MessageDeltaUsage, Usage as OfficialUsage } from "@anthropic-ai/sdk/resources/messages";
import type { Usage } from "../../core/events.ts";
import type { Official, OwnUsage } from "../shared/official.ts";

/**
 * Returns usage as Anthropic reports it: `input_tokens` excludes cached input. Other upstreams may report more cached
 * tokens than input. An estimate is marked.
 */
export const deltaUsage = (usage: Usage) =>
  ({
    input_tokens: Math.max(0, usage.inputTokens - usage.cachedTokens - usage.cacheWrittenTokens),
    cache_creation_input_tokens: usage.cacheWrittenTokens,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    server_tool_use: null,
    ...(usage.isEstimate && { is_estimate: true }),
  }) satisfies Official<MessageDeltaUsage> & OwnUsage;

/** Returns the usage of a message. Upstreams report none of what it has beside that of a delta. */
export const usageObject = (usage: Usage) =>
  ({
    ...deltaUsage(usage),
    cache_creation: null,
    service_tier: "standard",
    inference_geo: null,
    speed: null,
  }) satisfies Official<OfficialUsage> & OwnUsage;

/** The usage before the upstream reports any. */
export const openingUsage = (inputTokens: number): Usage => ({
  inputTokens,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: true,
});
