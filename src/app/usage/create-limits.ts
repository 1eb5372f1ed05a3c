import type { Usage } from "../../core/events.ts";
import { isOwner } from "../../server/gate/caller-keys.ts";
import { type Limit, parseLimit } from "../../usage/limit.ts";
import type { Prices } from "../../usage/prices.ts";
import { UsageLimits } from "../../usage/usage-limits.ts";
import type { UsageStore } from "../../usage/usage-store.ts";
import type { Config } from "../load-config.ts";

export interface LimitParts {
  readonly config: Config;
  /** What a key may use, such as `$5/day`. */
  readonly keyLimits: ((principalId: string) => readonly string[] | undefined) | undefined;
  readonly store: UsageStore;
  readonly prices: Prices;
}

/** Creates the limits of keys, and of the gateway's own key by the settings. */
export function createLimits({ config, keyLimits, store, prices }: LimitParts): UsageLimits {
  const own = limitsFrom(config.usage.ownLimits);
  return new UsageLimits({
    limitsOf: (id) => (isOwner({ id, token: undefined }) ? own : limitsFrom(keyLimits?.(id) ?? [])),
    spent: (id, fromMs, untilMs) => store.spent(id, fromMs, untilMs),
    spentIn: (conversation) => store.spentIn(conversation),
    costOf: (inputTokens, outputTokens, model, driver) =>
      prices.costOf({ ...NO_USAGE, inputTokens, outputTokens }, model, driver)?.micros,
  });
}

const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: true,
};

const limitsFrom = (texts: readonly string[]): readonly Limit[] =>
  texts.map(parseLimit).filter((limit) => limit !== undefined);
