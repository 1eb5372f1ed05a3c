import { FALLBACK_NAME, isUpstreamName, type ModelRoute } from "../config/model-names.ts";
import type { Config } from "../config/settings.ts";
import type { Driver } from "../core/driver.ts";
import { ExcursorError } from "../core/errors.ts";
import { closestPattern, matchesModel } from "../core/models/model-pattern.ts";
import { Secret } from "../core/secret.ts";
import { ANTHROPIC_URL, createAnthropicDriver } from "../drivers/anthropic/driver.ts";
import { createOpenAiDriver, OPENAI_URL } from "../drivers/openai/driver.ts";
import type { ModelNames } from "../drivers/shared/api-endpoint.ts";
import { forKeyHolders } from "../drivers/shared/for-key-holders.ts";
import { withGivenModel } from "../drivers/shared/with-given-model.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import { aliasMeaning } from "./models/with-aliases.ts";

/** What the setting `models` comes to. */
export interface ModelRouting {
  /** Names that stand for other names. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The model for names that Cursor does not know, if the user named one. */
  readonly fallback: string | undefined;
  /** The drivers of upstreams other than Cursor, each under the name that leads to it. */
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The same, each as it is by itself, with where it is. */
  readonly upstreams: ReadonlyMap<string, { readonly host: string; readonly driver: Driver }>;
  /** Every key that is sent anywhere. */
  readonly keys: readonly Secret[];
  /** Which of them answers for a model; undefined leaves it to Cursor. */
  route(model: string): string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Makes a driver for each route. One that cannot work is told at once, not when the first request comes. */
export function routeModels(
  config: Config,
  transport: HttpTransport,
  environment: Environment,
  hopId: string,
): ModelRouting {
  const aliases = new Map<string, string>();
  const routes = new Map<string, ModelRoute>();
  const { [FALLBACK_NAME]: fallback, ...names } = config.models;
  for (const [name, value] of Object.entries(names)) {
    if (typeof value !== "string") routes.set(name, value);
    else if (isUpstreamName(value)) routes.set(name, { driver: value });
    else aliases.set(name, value);
  }
  const drivers = new Map<string, Driver>();
  const upstreams = new Map<string, { readonly host: string; readonly driver: Driver }>();
  const keys: Secret[] = [];
  for (const [name, route] of routes) {
    if (route.driver === "cursor") continue;
    const { baseURL, key } = addressOf(name, route, route.driver, config, environment);
    if (key) keys.push(key);
    const hop = { id: hopId, entry: name };
    const options = { transport, baseURL, key, names: namesOf(name, route.model), effort: route.effort, hop };
    const create = route.driver === "anthropic" ? createAnthropicDriver : createOpenAiDriver;
    const given = givenName(name, route.model);
    const driver = create(options);
    upstreams.set(name, { host: new URL(baseURL).host, driver });
    drivers.set(name, forKeyHolders(given === undefined ? driver : withGivenModel(driver, given)));
  }
  return {
    aliases,
    fallback: typeof fallback === "string" ? aliasMeaning(aliases, fallback) : undefined,
    drivers,
    upstreams,
    keys,
    route(model) {
      const name = closestPattern(routes.keys(), model);
      return name !== undefined && drivers.has(name) ? name : undefined;
    },
  };
}

function addressOf(
  name: string,
  route: ModelRoute,
  driver: "anthropic" | "openai",
  config: Config,
  environment: Environment,
): { readonly baseURL: string; readonly key: Secret | undefined } {
  const { key: ownKey, baseURL: ownUrl } = config[driver];
  const baseURL = route.baseURL ?? ownUrl;
  // A key goes to the address that it was given for, and nowhere else.
  if (route.baseURL !== undefined && route.baseURL !== ownUrl) {
    const value = route.keyVariable === undefined ? undefined : environment[route.keyVariable];
    if (route.keyVariable !== undefined && !value) {
      throw unusable(name, `the variable ${route.keyVariable} is empty`, "Set it, or leave out keyVariable.");
    }
    return { baseURL, key: value ? new Secret(value) : undefined };
  }
  if (!ownKey && (baseURL === ANTHROPIC_URL || baseURL === OPENAI_URL)) {
    const variable = `EXCURSOR_${driver.toUpperCase()}_KEY`;
    throw unusable(name, `there is no key for ${driver}`, `Set ${driver}.key in the settings, or ${variable}.`);
  }
  return { baseURL, key: ownKey };
}

const unusable = (name: string, why: string, hint: string): ExcursorError =>
  new ExcursorError("config", `models → ${name}: ${why}.`, { code: "bad_config", hint });

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
