import type { JsonObject } from "../../core/turn.ts";

/**
 * What an official type allows to be sent: read-only, an enumeration also as its words. What a face builds `satisfies` it, so the
 * compiler names what a new version of the official package requires. Those packages are imported for types alone.
 */
export type Official<T> = T extends string
  ? T | `${T}`
  : T extends readonly (infer Item)[]
    ? readonly Official<Item>[]
    : T extends Date
      ? string
      : T extends object
        ? { readonly [Key in keyof T]: Official<T[Key]> }
        : T;

/** The declarations of Google's and Ollama's clients name these types of browsers. */
declare global {
  type HeadersInit = NonNullable<RequestInit["headers"]>;
  type RequestInfo = string | Request;
  type ErrorEvent = Event & { readonly error: unknown };
}

/** The same as JSON. Official types are interfaces, which the compiler does not take for it by itself. */
export const asJson = (official: object): JsonObject => official as JsonObject;

/** What we add to every official usage: whether its figures are our estimate. For people, and for our own reports. */
export interface OwnUsage {
  readonly is_estimate?: true;
}
