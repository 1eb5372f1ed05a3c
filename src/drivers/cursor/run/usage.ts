import type { Usage } from "../../../core/events.ts";
import type { ConversationStateStructure } from "../../../gen/agent/v1/conversation_pb.ts";
import type { TurnEndedUpdate } from "../../../gen/agent/v1/interaction_pb.ts";

/**
 * Returns the usage from the best source: the backend's figures for the turn, else the tokens in the context minus the
 * counted output. Undefined if the backend reports nothing.
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

export const runningUsage = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: true,
});
