/** How many keys one millisecond has. */
export const KEYS_PER_MS = 1024;

/** Returns SQL for the next key of a millisecond; `?1` is the first one. Beyond the last one it is one of the next millisecond. */
export const nextKey = (table: "request" | "run"): string =>
  `coalesce((SELECT max(at) + 1 FROM ${table} WHERE at >= ?1 AND at < ?1 + ${KEYS_PER_MS}), ?1)`;

const MAX_TEXT = 128;

/** Returns a text of a client or an upstream as it is stored. */
export const text = (value: string | undefined): string | null => value?.slice(0, MAX_TEXT) ?? null;
