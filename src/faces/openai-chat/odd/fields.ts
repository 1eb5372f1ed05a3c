export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns an empty list for anything that is not an array. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const isOfType = (value: unknown, ...types: string[]): value is Fields =>
  isFields(value) && types.some((type) => type === value["type"]);
