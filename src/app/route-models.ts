import { CURSOR, FALLBACK_NAME, type ModelRoute } from "../config/model-names.ts";
import type { Driver } from "../core/driver.ts";
import { closestPattern, matchesModel } from "../core/models/model-pattern.ts";
import type { ModelNames } from "../drivers/shared/api-endpoint.ts";
import type { DriverModule, DriverServices } from "../drivers/shared/driver-module.ts";
import { forKeyHolders } from "../drivers/shared/for-key-holders.ts";
import { withGivenModel } from "../drivers/shared/with-given-model.ts";
import { createDriver } from "./create-driver.ts";
import type { Config } from "./load-config.ts";
import { aliasMeaning } from "./models/with-aliases.ts";

/** What the setting `models` comes to. */
export interface ModelRouting {
  /** Names that stand for other names. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The model for names that Cursor does not know, if the user named one. */
  readonly fallback: string | undefined;
  /** The drivers of upstreams other than Cursor, each under the name that leads to it. */
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The same without what the gateway adds to them. */
  readonly upstreams: ReadonlyMap<string, Driver>;
  /** Which of them answers for a model; undefined leaves it to Cursor. */
  route(model: string): string | undefined;
}

/** Creates a driver for each entry of `models`. Throws if one of them cannot work. */
export async function routeModels(
  modules: readonly DriverModule[],
  config: Config,
  services: DriverServices,
): Promise<ModelRouting> {
  const takers = new Map(modules.filter(({ takesEntries }) => takesEntries).map((module) => [module.name, module]));
  const aliases = new Map<string, string>();
  const routes = new Map<string, ModelRoute>();
  const { [FALLBACK_NAME]: fallback, ...names } = config.models;
  for (const [name, value] of Object.entries(names)) {
    if (typeof value !== "string") routes.set(name, value);
    else if (value === CURSOR || takers.has(value)) routes.set(name, { driver: value });
    else aliases.set(name, value);
  }
  const drivers = new Map<string, Driver>();
  const upstreams = new Map<string, Driver>();
  for (const [name, { driver: taker, model, ...route }] of routes) {
    const module = takers.get(taker);
    if (!module) continue;
    const driver = await createDriver(module, config, services, { ...route, name, names: namesOf(name, model) });
    const given = givenName(name, model);
    upstreams.set(name, driver);
    drivers.set(name, forKeyHolders(given === undefined ? driver : withGivenModel(driver, given)));
  }
  return {
    aliases,
    fallback: typeof fallback === "string" ? aliasMeaning(aliases, fallback) : undefined,
    drivers,
    upstreams,
    route(model) {
      const name = closestPattern(routes.keys(), model);
      return name !== undefined && drivers.has(name) ? name : undefined;
    },
  };
}

/** The one name that a route is for, where it is for one. */
function givenName(pattern: string, model: string | undefined): string | undefined {
  if (!pattern.endsWith("*")) return pattern;
  return model === undefined ? undefined : `${pattern.slice(0, -1)}${model}`;
}

/** `local/*` is a shelf of its own: what is on it has another name at the upstream. */
function namesOf(pattern: string, model: string | undefined): ModelNames {
  const shelf = pattern.endsWith("/*") ? pattern.slice(0, -1) : "";
  if (model !== undefined) {
    const name = givenName(pattern, model);
    return { toUpstream: () => model, toClient: (upstreamName) => (upstreamName === model ? name : undefined) };
  }
  return {
    toUpstream: (name) => name.slice(shelf.length),
    toClient: (upstreamName) => {
      const name = shelf + upstreamName;
      return matchesModel(pattern, name) ? name : undefined;
    },
  };
}
