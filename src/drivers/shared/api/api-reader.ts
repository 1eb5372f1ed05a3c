import type { Usage } from "../../../core/events.ts";

export interface ApiReaderOptions {
  /** The upstream's host, for errors. */
  readonly host: string;
  readonly toolName: (wireName: string) => string;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** An upstream's counts. Undefined if not reported. */
interface TokenCounts {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly written?: number | undefined;
  readonly reasoning: number | undefined;
}

/** Returns undefined without counts. Ensures that cached tokens are part of the input, and reasoning of the output. */
export function usageOf({ input, output, cached = 0, written = 0, reasoning = 0 }: TokenCounts): Usage | undefined {
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: Math.max(input ?? 0, cached + written),
    outputTokens: Math.max(output ?? 0, reasoning),
    cachedTokens: cached,
    cacheWrittenTokens: written,
    reasoningTokens: reasoning,
    isEstimate: false,
  };
}
