import { ExcursorError } from "../../core/errors.ts";
import { describeLimit, type Limit, parseLimit } from "../../core/limits/limit.ts";
import { NO_USAGE } from "../../core/rules/usage-estimate.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import type { KeyLimits } from "../../server/gate/keys/gateway-keys.ts";
import type { HeldClock } from "../../usage/limits/held-clock.ts";
import type { SharedCounts } from "../../usage/limits/shared-counts.ts";
import { UsageLimits } from "../../usage/limits/usage-limits.ts";
import type { Prices } from "../../usage/prices.ts";
import type { UsageStore } from "../../usage/store/usage-store.ts";
import type { Config } from "../load-config.ts";
import { checkDollarLimits } from "./check-dollar-limits.ts";

export interface LimitParts {
  readonly config: Config;
  readonly keyName: (principalId: string) => string | undefined;
  readonly keyLimits?: ((principalId: string) => KeyLimits | undefined) | undefined;
  readonly store: UsageStore;
  readonly prices: Prices;
  readonly clock: HeldClock;
  /** Adds up what several processes count. */
  readonly shared?: SharedCounts | undefined;
}

/** Creates the limits of keys, and of the gateway's own key by the settings. */
export function createLimits(parts: LimitParts): {
  readonly limits: UsageLimits;
  readonly requestsPerMinuteOf: (principalId: string) => number | undefined;
} {
  const { config, keyName, keyLimits, store, prices, clock, shared } = parts;
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
  const isRecorded = config.usage.record === "on";
  if (!isRecorded && limitsOf(OWNER.id).some(needsRecord)) {
    throw new ExcursorError("limit_without_record", [], {
      hint: "Set usage.record to on, or remove the limits of tokens and dollars.",
    });
  }
  checkDollarLimits({ config, limits: config.usage.ownLimits, isOwners: true, prices });
  const limits = new UsageLimits({
    limitsOf: isRecorded ? limitsOf : (id) => limitsOf(id).map(refuseWithoutRecord),
    pausedName: (id) => (given(id)?.onLimit === "pause" ? (keyName(id) ?? id) : undefined),
    spent: (...window) => store.spent(...window),
    spentInMinute: (...window) => store.spentInMinute(...window),
    spentIn: (...asked) => store.spentIn(...asked),
    usual: (id) => store.usual(id),
    costOf: (inputTokens, outputTokens, model, driver) =>
      prices.costOf({ ...NO_USAGE, inputTokens, outputTokens }, model, driver)?.micros,
    clock,
    shared,
    liftedAt: (id) => store.liftedAt(id),
  });
  const requestsPerMinuteOf = (id: string) => limitsOf(id).find(({ unit }) => unit === "requests")?.amount;
  return { limits, requestsPerMinuteOf };
}

/** What a key has used is known from the record. Only requests per minute are counted elsewhere. */
const needsRecord = ({ unit }: Limit): boolean => unit !== "requests";

function refuseWithoutRecord(limit: Limit): Limit {
  if (!needsRecord(limit)) return limit;
  throw new ExcursorError(
    "limit_without_record",
    `This key may use ${describeLimit(limit)}, and the gateway does not record what it uses.`,
    { kind: "forbidden", hint: "Ask the owner of the gateway to set usage.record to on, or to remove the limit." },
  );
}
