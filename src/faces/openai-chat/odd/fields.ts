/** Anything that is an object, seen by its fields. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An array as it is, anything else as none. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isOfType = (value: unknown, ...types: string[]): value is Fields =>
  isFields(value) && types.some((type) => type === value["type"]);
