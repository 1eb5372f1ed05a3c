import { inspect } from "node:util";
import { printableJson } from "../core/printable.ts";
import { formatLine } from "./format-line.ts";
import type { Redactor } from "./redactor.ts";

/** In ascending order. */
const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

type LogLevel = (typeof LEVELS)[number];

type Fields = Readonly<Record<string, unknown>>;

/** Writes log lines. Never pass prompts or answers. */
export interface Log {
  trace(fields: Fields, message: string): void;
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly redactor: Redactor;
  /** Called with whole lines. */
  readonly write: (text: string) => void;
  /** Writes short lines for people instead of JSON. */
  readonly isPretty: boolean;
  /** Called with each line as JSON. */
  readonly onLine?: ((json: string) => void) | undefined;
}

/** Creates the log. Every line passes the redactor in its final form. */
export function createLog({ level, redactor, write, isPretty, onLine }: LogOptions): Log {
  const writer = (own: LogLevel) => {
    if (LEVELS.indexOf(own) < LEVELS.indexOf(level)) return () => {};
    return (fields: Fields, message: string) => {
      const line = `{"level":"${own}","time":"${new Date().toISOString()}",${factsOf(fields, message)}\n`;
      const safe = redactor.redact(printableJson(line));
      onLine?.(safe);
      write(isPretty ? formatLine(safe) : safe);
    };
  };
  return {
    trace: writer("trace"),
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
  };
}

/**
 * Returns the rest of the line. Fields that JSON cannot represent are written as text, because logging must not fail.
 */
function factsOf(fields: Fields, msg: string): string {
  try {
    return JSON.stringify({ ...fields, msg }).slice(1);
  } catch {
    return JSON.stringify({ facts: inspect(fields), msg }).slice(1);
  }
}
