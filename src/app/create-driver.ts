import type { SettingsShape, ValuesOf } from "../config/setting.ts";
import type { Driver } from "../core/driver.ts";
import type { DriverEntry, DriverModule, DriverServices } from "../drivers/shared/driver-module.ts";
import type { Config } from "./load-config.ts";

/** Creates one driver, which sees the values of its own settings and no others. */
export async function createDriver(
  module: DriverModule,
  config: Config,
  services: DriverServices,
  entry?: DriverEntry,
): Promise<Driver> {
  const values: Readonly<Record<string, unknown>> = { ...config };
  const settings = Object.fromEntries(Object.keys(module.settings).map((key) => [key, values[key]]));
  return module.create({ ...services, settings: settings as ValuesOf<SettingsShape>, entry });
}
