/** What requests can be grouped by. */
export const GROUPS = ["model", "key", "client", "conversation", "day", "cache"] as const;

export type UsageGroup = (typeof GROUPS)[number];

/** The kinds of records that can be exported. */
export const EXPORTED = ["requests", "runs", "tool-calls"] as const;

export type ExportedRecords = (typeof EXPORTED)[number];
