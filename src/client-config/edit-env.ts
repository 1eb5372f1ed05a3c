/** Sets variables in a file of `NAME=value` lines. Keeps all other lines. */
export function editEnv(text: string, values: Readonly<Record<string, string>>): string {
  const left = new Map(Object.entries(values));
  const lines = text.split("\n").map((line) => {
    const name = /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1];
    const value = name === undefined ? undefined : left.get(name);
    if (name === undefined || value === undefined) return line;
    left.delete(name);
    return `${name}=${value}`;
  });
  while (lines.at(-1) === "") lines.pop();
  return [...lines, ...[...left].map(([name, value]) => `${name}=${value}`), ""].join("\n");
}
