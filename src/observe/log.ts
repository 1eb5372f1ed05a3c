import { inspect } from "node:util";
import { formatLine } from "./format-line.ts";
import { createLogTime } from "./log-time.ts";
import { putOff } from "./put-off.ts";
import type { Redactor } from "./redactor.ts";

/** The least first. */
const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

type LogLevel = (typeof LEVELS)[number];

type Fields = Readonly<Record<string, unknown>>;

/**
 * Facts first, then what they are about. Never prompt text, never an answer. The facts are read when the line is written,
 * a moment later: they are the log's from now on.
 */
export interface Log {
  trace(fields: Fields, message: string): void;
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
  /** Writes at once what still waits. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly redactor: Redactor;
  /** Where the lines go; those of a short time come as one. */
  readonly write: (text: string) => void;
  /** Short lines for a person instead of JSON. */
  readonly isPretty: boolean;
}

interface Line {
  readonly own: LogLevel;
  readonly time: number;
  readonly fields: Fields;
  readonly message: string;
}

/** The one sink of log text: all of it passes the redactor here, in whole lines, as it will be written. */
export function createLog({ level, redactor, write, isPretty }: LogOptions): Log {
  const timeOf = createLogTime();
  const lines = putOff<Line>((entries) => {
    let text = "";
    for (const { own, time, fields, message } of entries) {
      text += `{"level":"${own}"${timeOf(time)},${factsOf(fields, message)}\n`;
    }
    const safe = redactor.redact(escapeControls(text));
    write(isPretty ? safe.replace(/.+\n/g, formatLine) : safe);
  });
  const writer = (own: LogLevel) => {
    if (LEVELS.indexOf(own) < LEVELS.indexOf(level)) return () => {};
    return (fields: Fields, message: string) => lines.add({ own, time: Date.now(), fields, message });
  };
  return {
    trace: writer("trace"),
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
    flush: () => lines.flush(),
  };
}

/** The rest of the line. Whatever it is given, a log does not fail. */
function factsOf(fields: Fields, msg: string): string {
  try {
    return JSON.stringify({ ...fields, msg }).slice(1);
  } catch {
    return JSON.stringify({ facts: inspect(fields), msg }).slice(1);
  }
}

/** JSON lets these stand as they are; a terminal would obey some, and others turn the text around (SEC-53). */
const CONTROLS = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const escapeControls = (line: string): string =>
  line.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
