import { styleText } from "node:util";
import { printable } from "../core/printable.ts";

const COLOURS = { warn: "yellow", error: "red", fatal: "red", debug: "gray", trace: "gray" } as const;

/** Formats a JSON log line for a terminal: time, level, message, then the fields. */
export function formatLine(json: string): string {
  const { time, level, msg, ...facts } = JSON.parse(json) as Record<string, unknown>;
  const clock = String(time).slice(11, 19);
  const pairs = Object.entries(facts).map(([name, value]) => `${name}=${onOneLine(value)}`);
  const colour = COLOURS[level as keyof typeof COLOURS];
  const text = `${onOneLine(msg)}${pairs.length === 0 ? "" : ` ${styled("dim", pairs.join(" "))}`}`;
  return `${styled("dim", clock)} ${colour ? `${styled(colour, String(level))} ${text}` : text}\n`;
}

/** Styles for stderr, where the log goes; stdout may be redirected. */
const styled = (format: "dim" | (typeof COLOURS)[keyof typeof COLOURS], text: string): string =>
  styleText(format, text, { stream: process.stderr });

/** Returns the value on one line. */
const onOneLine = (value: unknown): string =>
  printable(typeof value === "string" ? value : JSON.stringify(value)).replace(/[\n\t\p{Cf}]/gu, " ");
