import { styleText } from "node:util";

export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((_, column) => Math.max(...[heading, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  const top = styleText("bold", line(heading), { stream: process.stdout });
  return `${[top, ...rows.map(line)].join("\n")}\n`;
}
