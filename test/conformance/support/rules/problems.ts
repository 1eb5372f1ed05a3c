/** Returns the words of the rules that do not hold. */
export const problems = (rules: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(rules).filter((words) => !rules[words]);

/** True if all values are the same. */
export const areSame = (values: readonly unknown[]): boolean => new Set(values).size <= 1;

/** A time in seconds that a clock of today could show. */
export const isNow = (seconds: number): boolean =>
  Number.isInteger(seconds) && Math.abs(Date.now() / 1000 - seconds) < 3600;
