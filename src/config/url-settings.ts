import { BASE_URL_EXPECTED, isBaseUrl, normalizeBaseUrl } from "./base-url.ts";
import { optionalText, type Setting } from "./setting.ts";

/** The base URL of an API: `https://host/path`, or `http` on loopback. */
export const baseUrl = (help: string, fallback: string): Setting<string> => {
  const { schema, combine: _, ...setting } = optionalText(help, BASE_URL_EXPECTED, isBaseUrl);
  return { ...setting, schema: schema.default(fallback).transform(normalizeBaseUrl), fallback };
};

/** The same without a path. */
export const optionalOrigin = (help: string): Setting<string | undefined> =>
  optionalText(
    help,
    "an https origin, or an http one on loopback",
    (value) => isBaseUrl(value) && new URL(value).pathname === "/",
  );
