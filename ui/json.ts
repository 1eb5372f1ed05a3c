/** A value of a stream, of which nothing is known. */
export type Json = unknown;

export const asObject = (value: Json): Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, Json>>) : {};

export const asText = (value: Json): string | undefined => (typeof value === "string" ? value : undefined);

export const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);
