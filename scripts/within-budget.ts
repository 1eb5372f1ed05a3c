/** A number for each name. */
export type Figures = Readonly<Record<string, number>>;

/** Returns a sentence for each count that is above its figure, and for each name that only one side has. */
export function findOverruns(now: Figures, allowed: Figures): string[] {
  return [...new Set([...Object.keys(now), ...Object.keys(allowed)])].flatMap((name) => {
    const [count, most] = [now[name], allowed[name]];
    if (count === undefined) return [`scripts/budget.json allows ${name}, which nothing counts: remove it there.`];
    if (most === undefined) return [`scripts/budget.json does not allow ${name}: add its figure, ${count}.`];
    if (count <= most) return [];
    return [
      `${name}: now ${count}, allowed ${most}. Make it less, or raise it in scripts/budget.json and say in the body of the commit what the user gets for it.`,
    ];
  });
}

/** Returns the figures that today's counts need, none of them above what is allowed. */
export const lower = (now: Figures, allowed: Figures): Figures =>
  Object.fromEntries(Object.entries(now).map(([name, count]) => [name, Math.min(count, allowed[name] ?? count)]));
