/** A limit of what a key may use. Hours and days are those of UTC. */
export interface Limit {
  /** Tokens, millionths of a dollar, requests, steps, or milliseconds. */
  readonly amount: number;
  /** A step is one request of a conversation that is answered. `time` is that of answers and of the tools between them. */
  readonly unit: "tokens" | "dollars" | "requests" | "steps" | "time";
  /** `period` is the billing period of the account. */
  readonly window: "minute" | "hour" | "day" | "period" | "total";
  /** True if it holds for each conversation by itself. */
  readonly isPerConversation: boolean;
}

export const LIMIT_EXPECTED =
  "such as 500000 tokens/day, $5/hour, $20/period, $50/total, $1/conversation, 9000 tokens/conversation/hour, 60 requests/minute, 40 steps/conversation or 30 minutes/conversation";

const FORM =
  /^(?:(?:\$(?<dollars>\d{1,9}(?:\.\d{1,6})?)|(?<tokens>\d{1,15}) ?tokens)\/(?<use>(?:conversation\/)?(?:hour|day|period)|conversation|total)|(?<requests>\d{1,9}) ?requests\/minute|(?<steps>\d{1,9}) ?steps\/conversation|(?<minutes>\d{1,6}) ?minutes\/conversation)$/;

const MINUTE_MS = 60_000;

/** Reads a limit such as `500000 tokens/day` or `$5/hour`; undefined if it is none. */
export function parseLimit(text: string): Limit | undefined {
  const { dollars, tokens, use = "conversation", requests, steps, minutes } = FORM.exec(text.trim())?.groups ?? {};
  const amounts = {
    tokens: Number(tokens),
    dollars: Math.round(Number(dollars) * 1e6),
    requests: Number(requests),
    steps: Number(steps),
    time: Number(minutes) * MINUTE_MS,
  } as const;
  const [unit, amount] = (Object.entries(amounts) as [Limit["unit"], number][]).find(([, value]) => value > 0) ?? [];
  if (unit === undefined || amount === undefined) return undefined;
  if (unit === "requests") return { amount, unit, window: "minute", isPerConversation: false };
  const [scope, window = "total"] = use.split("/");
  const isPerConversation = scope === "conversation";
  return { amount, unit, window: (isPerConversation ? window : scope) as Limit["window"], isPerConversation };
}

/** Returns an amount for people. */
export function formatAmount(unit: Limit["unit"], amount: number): string {
  if (unit === "dollars") return `$${(amount / 1e6).toFixed(amount < 1e6 ? 4 : 2)}`;
  if (unit === "time") return `${Math.round(amount / 6000) / 10} minutes`;
  return `${amount} ${unit}`;
}

const WINDOWS = {
  minute: "in one minute",
  hour: "in one hour (UTC)",
  day: "in one day (UTC)",
  period: "in one billing period",
  total: "in total",
} as const;

/** Returns a limit for people, such as `500000 tokens in one day (UTC)`. */
export function describeLimit({ amount, unit, window, isPerConversation }: Limit): string {
  const time = isPerConversation && window === "total" ? "" : ` ${WINDOWS[window]}`;
  return `${formatAmount(unit, amount)}${isPerConversation ? " in a conversation" : ""}${time}`;
}
