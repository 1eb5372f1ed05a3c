import { CURSOR, FALLBACK_NAME, type ModelRoute } from "../../config/model-names.ts";
import type { Driver } from "../../core/driver.ts";
import { closestPattern, matchesModel } from "../../core/models/model-pattern.ts";
import type { ModelNames } from "../../drivers/shared/api/api-endpoint.ts";
import type { DriverModule, DriverServices } from "../../drivers/shared/driver-module.ts";
import { forKeyHolders } from "../../drivers/shared/for-key-holders.ts";
import { withGivenModel } from "../../drivers/shared/with-given-model.ts";
import { createDriver } from "../create-driver.ts";
import type { Config } from "../load-config.ts";
import { aliasMeaning } from "./with-aliases.ts";

/** The setting `models`, resolved. */
export interface ModelRouting {
  readonly aliases: ReadonlyMap<string, string>;
  /** The user's model for names that Cursor does not know. */
  readonly fallback: string | undefined;
  /** The drivers of other upstreams, by the name of their entry. */
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The same drivers without the gateway's wrappers. */
  readonly upstreams: ReadonlyMap<string, Driver>;
  /** The name of each entry's module. */
  readonly moduleNames: ReadonlyMap<string, string>;
  /** Returns the entry for a model, or undefined if Cursor answers. */
  route(model: string): string | undefined;
}

/** Creates a driver for each entry of `models`. Throws if an entry is invalid. */
export async function routeModels(
  modules: readonly DriverModule[],
  config: Config,
  services: DriverServices,
): Promise<ModelRouting> {
  const { takers, aliases, routes, fallback } = readEntries(modules, config);
  const drivers = new Map<string, Driver>();
  const upstreams = new Map<string, Driver>();
  const moduleNames = new Map<string, string>();
  for (const [name, { driver: taker, model, ...route }] of routes) {
    const module = takers.get(taker);
    if (!module) continue;
    const driver = await createDriver(module, config, services, { ...route, name, names: namesOf(name, model) });
    const given = givenName(name, model);
    upstreams.set(name, driver);
    moduleNames.set(name, module.name);
    drivers.set(name, forKeyHolders(given === undefined ? driver : withGivenModel(driver, given)));
  }
  return {
    aliases,
    fallback: typeof fallback === "string" ? aliasMeaning(aliases, fallback) : undefined,
    drivers,
    upstreams,
    moduleNames,
    route(model) {
      const name = closestPattern(routes.keys(), model);
      return name !== undefined && drivers.has(name) ? name : undefined;
    },
  };
}

/** Returns the models that entries of `models` give to other upstreams. Patterns stand for models that are not known yet. */
export function givenModels(modules: readonly DriverModule[], config: Pick<Config, "models">): readonly string[] {
  const { takers, routes } = readEntries(modules, config);
  return [...routes].flatMap(([name, { driver, model }]) => {
    const given = takers.has(driver) ? givenName(name, model) : undefined;
    return given === undefined ? [] : [given];
  });
}

function readEntries(modules: readonly DriverModule[], { models }: Pick<Config, "models">) {
  const takers = new Map(modules.filter(({ takesEntries }) => takesEntries).map((module) => [module.name, module]));
  const aliases = new Map<string, string>();
  const routes = new Map<string, ModelRoute>();
  const { [FALLBACK_NAME]: fallback, ...names } = models;
  for (const [name, value] of Object.entries(names)) {
    if (typeof value !== "string") routes.set(name, value);
    else if (value === CURSOR || takers.has(value)) routes.set(name, { driver: value });
    else aliases.set(name, value);
  }
  return { takers, aliases, routes, fallback };
}

/** Returns the single model name of an entry, or undefined if the entry is a pattern for many. */
function givenName(pattern: string, model: string | undefined): string | undefined {
  if (!pattern.endsWith("*")) return pattern;
  return model === undefined ? undefined : `${pattern.slice(0, -1)}${model}`;
}

/** Maps names between client and upstream. `local/*` is a prefix: the upstream knows its models without `local/`. */
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
