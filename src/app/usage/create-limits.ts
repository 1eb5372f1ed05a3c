import { type Limit, parseLimit } from "../../core/limit.ts";
import { NO_USAGE } from "../../core/rules/usage-estimate.ts";
import { OWNER } from "../../server/gate/caller-keys.ts";
import type { KeyLimits } from "../../server/gate/gateway-keys.ts";
import type { HeldClock } from "../../usage/held-clock.ts";
import type { Prices } from "../../usage/prices.ts";
import { UsageLimits } from "../../usage/usage-limits.ts";
import type { UsageStore } from "../../usage/usage-store.ts";
import type { Config } from "../load-config.ts";

export interface LimitParts {
  readonly config: Config;
  readonly keyName: (principalId: string) => string | undefined;
  readonly keyLimits?: ((principalId: string) => KeyLimits | undefined) | undefined;
  /** Returns the account of a key; undefined is the gateway's. */
  readonly keyAccount?: ((principalId: string) => string | undefined) | undefined;
  readonly store: UsageStore;
  readonly prices: Prices;
  readonly clock: HeldClock;
}

/** Creates the limits of keys, and of the gateway's own key by the settings. */
export function createLimits({ config, keyName, keyLimits, keyAccount, store, prices, clock }: LimitParts): {
  readonly limits: UsageLimits;
  readonly requestsPerMinuteOf: (principalId: string) => number | undefined;
} {
  const own: KeyLimits = { usage: [...config.usage.ownLimits], onLimit: config.usage.onLimit };
  const given = (id: string) => (id === OWNER.id ? own : keyLimits?.(id));
  const parsed = new WeakMap<KeyLimits, readonly Limit[]>();
  const limitsOf = (id: string): readonly Limit[] => {
    const limits = given(id);
    if (!limits) return [];
    const known = parsed.get(limits) ?? limits.usage.map(parseLimit).filter((limit) => limit !== undefined);
    parsed.set(limits, known);
    return known;
  };
  const limits = new UsageLimits({
    limitsOf,
    pausedName: (id) => (given(id)?.onLimit === "pause" ? (keyName(id) ?? id) : undefined),
    spent: (...window) => store.spent(...window),
    spentIn: (...window) => store.spentIn(...window),
    costOf: (inputTokens, outputTokens, model, driver) =>
      prices.costOf({ ...NO_USAGE, inputTokens, outputTokens }, model, driver)?.micros,
    periodOf: (id) => store.billingPeriod(keyAccount?.(id)),
    clock,
  });
  const requestsPerMinuteOf = (id: string) => limitsOf(id).find(({ unit }) => unit === "requests")?.amount;
  return { limits, requestsPerMinuteOf };
}
