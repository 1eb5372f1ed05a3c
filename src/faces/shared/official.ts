import type { JsonObject } from "../../core/turn.ts";

/**
 * What an official type allows to be sent: the same, all read-only. What a face builds `satisfies` it, so the compiler names what
 * a new version of the official package requires. Imports of those packages are types alone, and nothing of them is published.
 */
export type Official<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Official<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Official<T[Key]> }
      : T;

/** The same as JSON. Official types are interfaces, which the compiler does not take for it by itself. */
export const asJson = (official: object): JsonObject => official as JsonObject;
