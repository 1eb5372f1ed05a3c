import { FIXED_LIMITS, type FixedLimits, type Limits } from "../config/limits.ts";
import { type LoadedSettings, loadSettings, type SettingSources } from "../config/load-settings.ts";
import type { SettingsShape, ValuesOf } from "../config/setting.ts";
import { gatewaySettings, placeSettings } from "../config/settings.ts";
import { ExcursorError } from "../core/errors.ts";
import type { DriverModule } from "../drivers/shared/driver-module.ts";
import { DRIVERS } from "./drivers.ts";

type Chosen = ValuesOf<ReturnType<typeof gatewaySettings<Merged<(typeof DRIVERS)[number]["settings"]>>>>;

export type Config = Chosen & { readonly limits: Limits };

export type LoadedConfig = LoadedSettings<Config>;

/** The type that has the members of all members of a union. */
type Merged<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All extends SettingsShape,
) => void
  ? All
  : never;

export function settingsWith(drivers: readonly DriverModule[]) {
  const ofCursor = drivers.filter((driver) => !driver.takesEntries && !driver.claims).map(({ name }) => name);
  const ofEntries = drivers.filter(({ takesEntries }) => takesEntries).map(({ name }) => name);
  const [first = "", ...others] = ofCursor;
  return placeSettings(gatewaySettings({ settings: mergeSettings(drivers), ofCursor: [first, ...others], ofEntries }));
}

function mergeSettings(drivers: readonly DriverModule[]): SettingsShape {
  const merged = new Map<string, SettingsShape[string]>();
  for (const [key, setting] of drivers.flatMap(({ settings }) => Object.entries(settings))) {
    if (merged.has(key) && merged.get(key) !== setting) {
      throw new ExcursorError("internal", `Two drivers define the setting ${key}.`);
    }
    merged.set(key, setting);
  }
  return Object.fromEntries(merged);
}

/** `limits` replace those that have no setting, for tests. */
export type ConfigSources = SettingSources & { readonly limits?: Partial<FixedLimits> };

/** Loads the settings: flags before environment before file before default. */
export function loadConfig(sources: ConfigSources, drivers: readonly DriverModule[] = DRIVERS): LoadedConfig {
  const loaded = loadSettings<Chosen>(settingsWith(drivers), sources);
  const limits = { ...FIXED_LIMITS, ...sources.limits, ...loaded.values.limits };
  return { ...loaded, values: { ...loaded.values, limits } };
}
