import type { Usage } from "../../../core/events.ts";
import type { ConversationStateStructure } from "../../../gen/agent/v1/conversation_pb.ts";
import type { TurnEndedUpdate } from "../../../gen/agent/v1/interaction_pb.ts";

/**
 * What the answer cost, by the best source there is: the bill of the turn, else what the context holds after it less
 * what was counted on the way out. Undefined if the backend told nothing.
 */
export function usageOf(
  ended: TurnEndedUpdate,
  state: ConversationStateStructure | undefined,
  countedOutput: number,
): Usage | undefined {
  if (ended.inputTokens !== undefined || ended.outputTokens !== undefined) {
    return {
      inputTokens: Number(ended.inputTokens ?? 0n),
      outputTokens: Number(ended.outputTokens ?? 0n),
      cachedTokens: Number(ended.cacheReadTokens ?? 0n),
      cacheWrittenTokens: Number(ended.cacheWriteTokens ?? 0n),
      reasoningTokens: Number(ended.reasoningTokens ?? 0n),
      isEstimate: false,
    };
  }
  const used = state?.tokenDetails?.usedTokens ?? 0;
  if (used === 0) return undefined;
  const inputTokens = Math.max(0, used - countedOutput);
  return { ...runningUsage(inputTokens, countedOutput), isEstimate: false };
}

/** What is known while the answer is under way: how much has come. */
export const runningUsage = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: true,
});
