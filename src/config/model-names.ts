import { z } from "zod";
import { BASE_URL_EXPECTED, isBaseUrl, normalizeBaseUrl } from "./base-url.ts";
import { jsonOrText, namePairs, type Setting } from "./setting.ts";

/** The upstream name of Cursor's backend, for all of its drivers. */
export const CURSOR = "cursor";

/** Where a model name leads: the upstream, and the model's name there. */
export interface ModelRoute {
  /** `cursor`, or the name of another driver. */
  readonly driver: string;
  /** Overrides the upstream's own setting. */
  readonly baseURL?: string | undefined;
  /** The environment variable that holds its key. */
  readonly keyVariable?: string | undefined;
  /**
   * The model's name at the upstream. Default: the same name; for a route such as `local/*`, the part after the slash.
   */
  readonly model?: string | undefined;
  /** The thinking effort if the client sends none. */
  readonly effort?: string | undefined;
  /** For `openai`: the API to use. Default: the setting `openai.api`. */
  readonly api?: "responses" | "chat" | undefined;
}

/** Routes by model name, or by a prefix of names that ends with `*`. */
export type ModelNames = Readonly<Record<string, string | ModelRoute>>;

const routeSchema = (upstreams: readonly string[]) =>
  z
    .strictObject(
      {
        driver: z.enum(upstreams, { error: `expected one of ${upstreams.join(", ")}` }),
        baseURL: z
          .string()
          .refine(isBaseUrl, { error: `expected ${BASE_URL_EXPECTED}` })
          .transform(normalizeBaseUrl)
          .optional(),
        keyVariable: z.string().min(1).optional(),
        model: z.string().min(1).max(256).optional(),
        effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).optional(),
        api: z.enum(["responses", "chat"]).optional(),
      },
      {
        error: ({ code }) =>
          code === "invalid_type" ? `expected a model, ${upstreams.join(", ")}, or {"driver": …}` : undefined,
      },
    )
    .refine(({ driver, baseURL, keyVariable }) => driver !== CURSOR || (baseURL ?? keyVariable) === undefined, {
      error: "cursor takes no baseURL and no keyVariable; use the settings upstream and token",
    })
    .refine(({ driver, api }) => driver === "openai" || api === undefined, { error: "only openai takes api" })
    .refine(({ driver, baseURL, keyVariable }) => driver === CURSOR || !keyVariable || baseURL !== undefined, {
      error: "keyVariable requires baseURL",
    });

/** The name that matches all unknown names. */
export const FALLBACK_NAME = "*";

const NAME = /^[^*\s]{1,255}\*?$/;

const modelsSchema = (upstreams: readonly string[], expected: string) => {
  const route = routeSchema(upstreams);
  return z
    .record(z.string(), z.unknown(), { error: `expected ${expected}` })
    .transform((given, context): ModelNames => {
      const names: Record<string, string | ModelRoute> = {};
      const refuse = (name: string, message: string, path: readonly PropertyKey[] = []) =>
        context.addIssue({ code: "custom", path: [name, ...path], message });
      for (const [name, value] of Object.entries(given)) {
        if (name === FALLBACK_NAME) {
          if (typeof value === "string" && value !== "" && !upstreams.includes(value)) names[name] = value;
          else refuse(name, "expected a model, or one of your own names for a model");
          continue;
        }
        if (!NAME.test(name)) refuse(name, 'expected a name, optionally with a "*" at its end');
        if (typeof value === "string" && value !== "") {
          names[name] = value;
          continue;
        }
        const result = route.safeParse(value);
        if (result.success) names[name] = result.data;
        else for (const { path, message } of result.error.issues) refuse(name, message, path);
      }
      for (const name of circles(names, upstreams)) refuse(name, "this name refers to itself");
      return names;
    });
};

/**
 * Creates the setting `models`, with the drivers that an entry may name beside `cursor`. As text: JSON as in the file,
 * or `name=model` and `name=upstream`, separated by commas.
 */
export function modelNames(help: string, drivers: readonly string[]): Setting<ModelNames> {
  const upstreams = [CURSOR, ...drivers];
  const expected = `an object that maps each name to a model, to ${upstreams.join(", ")}, or to {"driver": …}`;
  return {
    schema: modelsSchema(upstreams, expected),
    fallback: {},
    help,
    expected,
    isSecret: false,
    explain: ({ issues }) => issues.map(describe).join("; "),
    fromText: (text) => (text.trim().startsWith("{") ? jsonOrText(text) : namePairs(text)),
  };
}

const describe = ({ path, message }: z.core.$ZodIssue): string =>
  path.length === 0 ? message : `${path.map(String).join(" → ")}: ${message}`;

function circles(names: ModelNames, upstreams: readonly string[]): string[] {
  return Object.keys(names).filter((start) => {
    const seen = new Set<string>();
    let at: string | ModelRoute | undefined = start;
    while (typeof at === "string" && !upstreams.includes(at)) {
      if (seen.has(at)) return true;
      seen.add(at);
      at = Object.hasOwn(names, at) ? names[at] : undefined;
    }
    return false;
  });
}
