import { isJsonObject } from "../../../core/json/is-json-object.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** Returns an empty list for anything that is not an array. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isOfType = (value: unknown, ...types: string[]): value is Fields =>
  isJsonObject(value) && types.some((type) => type === value["type"]);
