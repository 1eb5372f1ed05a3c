import { join } from "node:path";
import { ExcursorError } from "../core/errors.ts";
import { readConfigFile, readTree, unknownKey } from "./config-file.ts";
import { checkConfigFile, homeFolder } from "./home.ts";
import type { PlacedSetting } from "./settings.ts";

export interface SettingSources {
  /** By key (`logLevel`, `limits.bodyBytes`). Undefined: not given. */
  readonly flags: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The settings of a program that embeds the gateway, built like the file. They come after flags. */
  readonly given?: object | undefined;
}

export interface LoadedSettings<Values> {
  readonly values: Values;
  readonly settings: readonly PlacedSetting[];
  /** Where each value came from, by key: `--port`, `EXCURSOR_PORT`, a file and line, `default`. */
  readonly origins: ReadonlyMap<string, string>;
  /** The folder of config, key and state. It need not exist yet. */
  readonly home: string;
  /** Oddities that are not errors. */
  readonly warnings: readonly string[];
}

const DEFAULT_ORIGIN = "default";

/**
 * Loads the settings. Flags take precedence over what a program gave, that over the environment, the environment over the file, the file over
 * defaults. Throws one error with all problems, each with its place.
 *
 * @typeParam Values the values of the settings: {@link ValuesOf} of their tree.
 */
export function loadSettings<Values>(
  settings: readonly PlacedSetting[],
  { flags, environment, given: tree = {} }: SettingSources,
): LoadedSettings<Values> {
  const home = homeFolder(environment);
  const file = readConfigFile(join(home, "config.json"), settings);
  checkConfigFile(join(home, "config.json"), isSecretIn(settings, file.values));
  const program = readTree(tree, settings, () => "settings");
  const problems = [...program.problems, ...file.problems];
  const warnings = [...program.warnings, ...file.warnings, ...unknownVariables(settings, environment)];
  const origins = new Map<string, string>();
  const values: Record<string, unknown> = {};
  for (const placed of settings) {
    const { key, variable, setting } = placed;
    const given: [origin: string, value: unknown][] = [];
    const [flag, text] = [flags[key], environment[variable]];
    if (flag !== undefined) given.push([flagName(key), typeof flag === "string" ? setting.fromText(flag) : flag]);
    if (program.values.has(key)) given.push(["settings", program.values.get(key)]);
    // Shells use an empty variable for an unset one.
    if (text !== undefined && text !== "") given.push([variable, setting.fromText(text)]);
    if (file.values.has(key)) given.push([file.place(key), file.values.get(key)]);
    const read = given.map(([origin, value]) => ({ origin, ...check(placed, origin, value) }));
    for (const { problem } of read) if (problem !== undefined) problems.push(problem);
    origins.set(key, read[0]?.origin ?? DEFAULT_ORIGIN);
    const all = read.map(({ value }) => value);
    setAt(values, key, all.length === 0 ? setting.fallback : setting.combine ? setting.combine(all) : all[0]);
  }
  if (problems.length > 0) {
    throw new ExcursorError("bad_config", problems.join("\n"));
  }
  return { values: values as Values, settings, origins, home, warnings };
}

function check({ key, setting }: PlacedSetting, origin: string, value: unknown): { value?: unknown; problem?: string } {
  const result = setting.schema.safeParse(value);
  if (result.success) return { value: result.data };
  const found = setting.isSecret ? "something else" : (JSON.stringify(value) ?? "nothing").slice(0, 80);
  const subject = origin.startsWith("--") || origin.startsWith("EXCURSOR_") ? origin : `${origin}: ${key}`;
  const why = setting.explain?.(result.error) ?? `expected ${setting.expected}, found ${found}`;
  return { problem: `${subject}: ${why}.` };
}

/** Returns the name of a flag: `limits.bodyBytes` → `--body-bytes`. */
const flagName = (key: string): string =>
  `--${key.slice(key.lastIndexOf(".") + 1).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function setAt(tree: Record<string, unknown>, key: string, value: unknown): void {
  const [group = "", name] = key.split(".");
  if (name === undefined) {
    tree[group] = value;
    return;
  }
  tree[group] ??= {};
  (tree[group] as Record<string, unknown>)[name] = value;
}

const isSecretIn = (settings: readonly PlacedSetting[], values: ReadonlyMap<string, unknown>): boolean =>
  settings.some(({ key, setting }) => setting.isSecret && values.has(key));

/** Variables of other programs: Zed reads the key of a provider named Excursor from this one. */
const FOREIGN = ["EXCURSOR_API_KEY"];

/** Warns of unknown variables. They are no error: they may belong to a newer version or to a script. */
function unknownVariables(settings: readonly PlacedSetting[], environment: SettingSources["environment"]): string[] {
  const known = [...settings.map(({ variable }) => variable), "EXCURSOR_HOME", ...FOREIGN];
  return Object.keys(environment)
    .filter((name) => name.startsWith("EXCURSOR_") && !known.includes(name))
    .map((name) => `In the environment ${unknownKey(name, known)}`);
}
