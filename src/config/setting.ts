import { z } from "zod";
import { Secret } from "../core/secret.ts";

/** A configurable value: by flag, environment or file, with a default. */
export interface Setting<T> {
  readonly schema: z.ZodType<T>;
  readonly fallback: T;
  /** One sentence for `excursor config`. */
  readonly help: string;
  /** The valid values, for error messages: "a whole number from 0 to 65535". */
  readonly expected: string;
  readonly isSecret: boolean;
  /** Explains an error better than `expected` does. Must not quote the value. */
  readonly explain?: (error: z.ZodError) => string;
  /** Combines the values of several sources, in order of precedence. Default: the first. */
  combine?(values: readonly T[]): T;
  /** Converts a text from the environment or a flag. The schema then validates the result. */
  fromText(text: string): unknown;
}

/** Settings by name, in nested groups. */
export interface SettingsShape {
  readonly [name: string]: Setting<unknown> | SettingsShape;
}

export type ValuesOf<Tree> = {
  readonly [Name in keyof Tree]: Tree[Name] extends Setting<infer T> ? T : ValuesOf<Tree[Name]>;
};

export function text(fallback: string, help: string, expected = "a text"): Setting<string> {
  return { schema: z.string().min(1), fallback, help, expected, isSecret: false, fromText: String };
}

export function optionalText(
  help: string,
  expected = "a text",
  isValid: (value: string) => boolean = () => true,
): Setting<string | undefined> {
  const schema = z.string().min(1).refine(isValid).optional();
  return { schema, fallback: undefined, help, expected, isSecret: false, fromText: String };
}

export function secret(help: string, expected: string, shape: RegExp): Setting<Secret | undefined> {
  const schema = z
    .string()
    .regex(shape)
    .transform((value) => new Secret(value))
    .optional();
  return { schema, fallback: undefined, help, expected, isSecret: true, fromText: String };
}

export function choice<const T extends string>(options: readonly [T, ...T[]], help: string): Setting<T> {
  const expected = `one of ${options.join(", ")}`;
  return { schema: z.enum(options), fallback: options[0], help, expected, isSecret: false, fromText: String };
}

export function wholeNumber(fallback: number, help: string, [min, max] = [1, 2 ** 31 - 1]): Setting<number> {
  return {
    schema: z.int().min(min).max(max),
    fallback,
    help,
    expected: `a whole number from ${min} to ${max}`,
    isSecret: false,
    fromText: (given) => (/^-?\d+$/.test(given.trim()) ? Number(given) : given),
  };
}

export function optionalBoolean(help: string): Setting<boolean | undefined> {
  const known: Readonly<Record<string, boolean>> = { true: true, "1": true, false: false, "0": false };
  return {
    schema: z.boolean().optional(),
    fallback: undefined,
    help,
    expected: "true or false",
    isSecret: false,
    fromText: (given) => known[given.trim().toLowerCase()] ?? given,
  };
}

/** As text: separated by commas. */
export function list(help: string, expected: string, shape: Pick<RegExp, "test">): Setting<readonly string[]> {
  return {
    schema: z.array(z.string().refine((text) => shape.test(text))),
    fallback: [],
    help,
    expected: `a list of ${expected}`,
    isSecret: false,
    fromText: (given) => split(given),
  };
}

/** Parses `name=value` pairs, separated by commas. Commas in brackets belong to the value: `a=b[x=1,y=2]`. */
export function namePairs(given: string): unknown {
  const pairs = split(given, /,(?![^[\]]*\])/).map((pair) => /^([^=[]*)=(.*)$/.exec(pair)?.slice(1));
  return pairs.every((pair) => pair !== undefined) ? Object.fromEntries(pairs) : given;
}

/**
 * Creates a setting with entries by name. The users of the setting validate each entry, so that a wrong one does not
 * affect others. Entries may hold keys. As text: JSON.
 */
export function entries(help: string): Setting<Readonly<Record<string, unknown>> | undefined> {
  return {
    schema: z.record(z.string().min(1), z.unknown()).optional(),
    fallback: undefined,
    help,
    expected: "an object with one member per name",
    isSecret: true,
    fromText: jsonOrText,
  };
}

/** Parses JSON. Returns a text that is not JSON unchanged; the schema then rejects it. */
export function jsonOrText(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

const split = (given: string, separator: string | RegExp = ","): string[] =>
  given
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Returns the variable of a key: `limits.bodyBytes` → `EXCURSOR_LIMITS_BODY_BYTES`. */
export const variableOf = (key: string): string =>
  `EXCURSOR_${key
    .replace(/[A-Z]+/g, "_$&")
    .replaceAll(".", "_")
    .toUpperCase()}`;
