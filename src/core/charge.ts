/** One call as the upstream has billed it. Money is in millionths of a US dollar. */
export interface Charge {
  /** Milliseconds since the epoch, by the upstream's clock. */
  readonly at: number;
  /** The upstream's id of the conversation, as the run request named it; empty if it does not say. */
  readonly conversationId: string;
  readonly model: string;
  /** With the cached tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** What the tokens cost, whether a plan includes them or not. */
  readonly costMicros: number;
  /** What is charged beyond the plan. */
  readonly chargedMicros: number;
}
