/** What requests can be grouped by. */
export const GROUPS = ["model", "key", "client", "conversation", "day", "cache"] as const;

export type UsageGroup = (typeof GROUPS)[number];
