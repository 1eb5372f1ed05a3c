/** A limit of what a key may use. Hours and days are those of UTC. */
export interface Limit {
  /** Tokens, or millionths of a dollar. */
  readonly amount: number;
  readonly unit: "tokens" | "dollars";
  readonly per: "hour" | "day" | "total" | "conversation";
}

export const LIMIT_EXPECTED =
  "an amount of tokens or dollars per hour, day, conversation or in total: 500000 tokens/day, $5/hour, $20/total";

const FORM = /^(?:\$(\d{1,9}(?:\.\d{1,6})?)|(\d{1,15}) ?tokens)\/(hour|day|total|conversation)$/;

/** Reads a limit such as `500000 tokens/day` or `$5/hour`; undefined if it is none. */
export function parseLimit(text: string): Limit | undefined {
  const [, dollars, tokens, per] = FORM.exec(text.trim()) ?? [];
  const amount = dollars === undefined ? Number(tokens) : Math.round(Number(dollars) * 1e6);
  if (per === undefined || !(amount > 0)) return undefined;
  return { amount, unit: dollars === undefined ? "tokens" : "dollars", per: per as Limit["per"] };
}

/** Returns the amount for people. */
export const formatAmount = (unit: Limit["unit"], amount: number): string =>
  unit === "tokens" ? `${amount} tokens` : `$${(amount / 1e6).toFixed(2)}`;
