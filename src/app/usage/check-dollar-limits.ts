import { ExcursorError } from "../../core/errors.ts";
import { describeLimit, type Limit, parseLimit } from "../../core/limits/limit.ts";
import { agentModel } from "../../core/models/agent-models.ts";
import { Prices } from "../../usage/prices.ts";
import { DRIVERS } from "../drivers.ts";
import type { Config } from "../load-config.ts";
import { givenModels } from "../models/route-models.ts";

export interface DollarLimitCheck {
  readonly config: Pick<Config, "models" | "agents" | "prices">;
  readonly limits: readonly string[];
  /** True for the limits of the gateway's own key. Other keys cannot use agents. */
  readonly isOwners: boolean;
  readonly prices?: Prices;
}

/**
 * Throws if one of the limits is in dollars, and a model of the settings has no price: the limit could not hold it. Models
 * that become known later, such as those of a pattern, are refused when they are asked.
 */
export function checkDollarLimits({ config, limits, isOwners, prices }: DollarLimitCheck): void {
  const limit = limits.map(parseLimit).find((one): one is Limit => one?.unit === "dollars");
  if (!limit) return;
  const agents = isOwners ? Object.keys(config.agents ?? {}).map(agentModel) : [];
  const known = prices ?? new Prices(config.prices);
  const model = [...givenModels(DRIVERS, config), ...agents].find((name) => !known.has(name, undefined));
  if (model === undefined) return;
  throw new ExcursorError(
    "no_price",
    `A limit of ${describeLimit(limit)} cannot hold: the model ${model} has no price.`,
    { kind: "config", hint: `Add ${model} to the setting \`prices\`, or set a limit in tokens.` },
  );
}
