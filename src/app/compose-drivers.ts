import type { Driver } from "../core/driver.ts";
import type { RetryStats } from "../core/engine/run/retry-budget.ts";
import { ExcursorError } from "../core/errors.ts";
import type { DriverModule, DriverServices } from "../drivers/shared/driver-module.ts";
import { createDriver } from "./create-driver.ts";
import type { Config } from "./load-config.ts";
import { type ModelRouting, routeModels } from "./models/route-models.ts";

export interface Drivers extends Pick<ModelRouting, "aliases" | "fallback"> {
  /** By the names that {@link route} returns. */
  readonly all: ReadonlyMap<string, Driver>;
  readonly cursor: Driver;
  route(model: string): string;
  /** Returns the name of the module, such as `anthropic`, for a name that {@link route} returns. */
  moduleOf(name: string): string;
  /** True if the model is routed to Cursor. */
  isCursors(model: string): boolean;
  /** The automatic retries of each driver that has any, by the driver's name or that of its entry in `models`. */
  retries(): Iterable<readonly [name: string, stats: RetryStats]>;
  /** Prewarms the drivers, without waiting. */
  prewarm(): void;
  close(): Promise<void>;
}

export async function composeDrivers(
  modules: readonly DriverModule[],
  config: Config,
  services: DriverServices,
): Promise<Drivers> {
  const routing = await routeModels(modules, config, services);
  const named = modules.filter((module) => module.claims || module.name === config.driver);
  const created = await Promise.all(
    named.map(async (module) => [keyOf(module), await createDriver(module, config, services)] as const),
  );
  const all = new Map([...created, ...routing.drivers]);
  const cursorKey = keyOf({ name: config.driver });
  const cursor = all.get(cursorKey);
  if (!cursor) throw new ExcursorError("internal", `There is no driver ${config.driver}.`);
  const claimed = (model: string): string | undefined => {
    const module = modules.find((one) => one.claims?.(model));
    return module && keyOf(module);
  };
  const route = (model: string) => routing.route(model) ?? claimed(model) ?? cursorKey;
  return {
    all,
    cursor,
    aliases: routing.aliases,
    fallback: routing.fallback,
    route,
    moduleOf: (name) => routing.moduleNames.get(name) ?? name.slice(KEY_PREFIX.length),
    isCursors: (model) => route(model) === cursorKey,
    *retries() {
      for (const [key, driver] of all) {
        const stats = driver.retries?.();
        if (stats) yield [key.replace(KEY_PREFIX, ""), stats] as const;
      }
    },
    prewarm() {
      for (const driver of all.values()) void driver.prewarm?.();
    },
    close: async () => void (await Promise.all([...all.values()].map((driver) => driver.close?.()))),
  };
}

/** Entries of `models` have no spaces in their names, so none of them gets the key of a driver. */
const keyOf = ({ name }: Pick<DriverModule, "name">): string => `${KEY_PREFIX}${name}`;

const KEY_PREFIX = "driver ";
