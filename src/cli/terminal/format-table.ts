import { styleText } from "node:util";
import { printable } from "../../core/printable.ts";

/** Cells may hold foreign text. */
export function formatTable(heading: readonly string[], given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(printable));
  const widths = heading.map((_, column) => Math.max(...[heading, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  const top = styleText("bold", line(heading), { stream: process.stdout });
  return `${[top, ...rows.map(line)].join("\n")}\n`;
}
