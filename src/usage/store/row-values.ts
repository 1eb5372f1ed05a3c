/** How many keys one millisecond has. */
export const KEYS_PER_MS = 1024;

const MAX_TEXT = 128;

/** Returns a text of a client or an upstream as it is stored. */
export const text = (value: string | undefined): string | null => value?.slice(0, MAX_TEXT) ?? null;
