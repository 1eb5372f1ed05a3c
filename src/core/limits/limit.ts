/** A limit of what a key may use. */
export interface Limit {
  /** Tokens, millionths of a dollar, or requests. */
  readonly amount: number;
  readonly unit: "tokens" | "dollars" | "requests";
  /** Minutes, days and months are those of UTC. `conversation` holds for each conversation by itself. */
  readonly window: "minute" | "day" | "month" | "total" | "conversation";
}

const WINDOWS: Readonly<Record<Limit["unit"], readonly Limit["window"][]>> = {
  tokens: ["minute", "day", "month", "total", "conversation"],
  dollars: ["day", "month", "total", "conversation"],
  requests: ["minute"],
};

export const LIMIT_EXPECTED =
  "such as 60 requests/minute, 15000 tokens/minute, 500000 tokens/day, $20/month, $50/total or $1/conversation";

const FORM =
  /^(?:\$(?<dollars>\d{1,9}(?:\.\d{1,6})?)|(?<count>\d{1,15}(?:\.\d{1,6})?) ?(?<word>[a-z]{1,20}))\/(?<window>[a-z/]{1,40})$/;

/** Reads a limit such as `500000 tokens/day` or `$20/month`; undefined if it is none. */
export function parseLimit(text: string): Limit | undefined {
  const limit = readLimit(text);
  return typeof limit === "string" ? undefined : limit;
}

/** Returns what is wrong with a limit, and what to write instead; undefined if it is right. */
export function limitFault(text: string): string | undefined {
  const limit = readLimit(text);
  return typeof limit === "string" ? limit : undefined;
}

function readLimit(text: string): Limit | string {
  const { dollars, count, word, window } = FORM.exec(text.trim())?.groups ?? {};
  if (window === undefined) return `expected a limit ${LIMIT_EXPECTED}`;
  const unit = UNITS.find((one) => one === (word ?? "dollars"));
  if (!unit) return `only tokens, dollars and requests can be limited, ${LIMIT_EXPECTED}`;
  const known = WINDOWS[unit].find((one) => one === window);
  if (!known) return `${unit} can be limited by ${WINDOWS[unit].join(", ")}, ${LIMIT_EXPECTED}`;
  const given = Number(dollars ?? count);
  const amount = unit === "dollars" ? Math.round(given * 1e6) : given;
  if (amount === 0) return "a limit must be more than 0";
  if (!Number.isSafeInteger(amount)) return `expected a whole number of ${unit}`;
  return { amount, unit, window: known };
}

const UNITS = ["tokens", "dollars", "requests"] as const;

/** Returns an amount for people. */
export const formatAmount = (unit: Limit["unit"], amount: number): string =>
  unit === "dollars" ? `$${(amount / 1e6).toFixed(amount < 1e6 ? 4 : 2)}` : `${amount} ${unit}`;

const WORDS: Readonly<Record<Limit["window"], string>> = {
  minute: "in one minute",
  day: "in one day (UTC)",
  month: "in one month (UTC)",
  total: "in total",
  conversation: "in a conversation",
};

/** Returns a limit for people, such as `500000 tokens in one day (UTC)`. */
export const describeLimit = ({ amount, unit, window }: Limit): string =>
  `${formatAmount(unit, amount)} ${WORDS[window]}`;
