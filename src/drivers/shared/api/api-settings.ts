import { type Setting, secret } from "../../../config/setting.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { Secret } from "../../../core/secret.ts";
import type { DriverEntry, DriverServices } from "../driver-module.ts";
import type { ApiDriverOptions } from "./api-driver.ts";

export const apiKey = (help: string): Setting<Secret | undefined> =>
  secret(help, "a key without spaces", /^[\x21-\x7e]{1,1024}$/);

interface ApiSettings {
  readonly key: Secret | undefined;
  readonly baseURL: string;
}

/** The module's context, and the name of the driver. */
interface ApiModule extends DriverServices {
  readonly name: string;
  readonly own: ApiSettings;
  /** The official address, which requires a key and is no gateway. */
  readonly officialURL: string;
  readonly entry: DriverEntry | undefined;
}

/** Returns the driver's options from its settings and entry. Throws if they are invalid. */
export function apiOptions({ name, own, officialURL, entry, ...services }: ApiModule): ApiDriverOptions {
  if (!entry) throw new ExcursorError("internal", `The driver ${name} needs an entry of the setting models.`);
  const { transports, environment, hopId, onSecret } = services;
  const { baseURL, key } = addressOf(name, own, officialURL, entry, environment);
  if (key) onSecret(key);
  return {
    transport: transports.h1,
    baseURL,
    key,
    names: entry.names,
    effort: entry.effort,
    hop: baseURL === officialURL ? undefined : { id: hopId, entry: entry.name },
  };
}

function addressOf(
  driver: string,
  own: ApiSettings,
  officialURL: string,
  entry: DriverEntry,
  environment: DriverServices["environment"],
): ApiSettings {
  const baseURL = entry.baseURL ?? own.baseURL;
  // A key is only sent to the address that it was given for.
  if (entry.baseURL !== undefined && entry.baseURL !== own.baseURL) {
    const value = entry.keyVariable === undefined ? undefined : environment[entry.keyVariable];
    if (entry.keyVariable !== undefined && !value) {
      throw unusable(entry, `the variable ${entry.keyVariable} is empty`, "Set it, or remove keyVariable.");
    }
    return { baseURL, key: value ? new Secret(value) : undefined };
  }
  if (!own.key && baseURL === officialURL) {
    const variable = `EXCURSOR_${driver.toUpperCase()}_KEY`;
    throw unusable(entry, `there is no key for ${driver}`, `Set ${driver}.key in the settings, or ${variable}.`);
  }
  return { baseURL, key: own.key };
}

const unusable = ({ name }: DriverEntry, why: string, hint: string): ExcursorError =>
  new ExcursorError("bad_config", `models → ${name}: ${why}.`, { hint });
