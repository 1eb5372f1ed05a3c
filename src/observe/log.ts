import { type Logger, pino } from "pino";
import { formatLine } from "./format-line.ts";
import { type GatheredWriter, gatherWrites } from "./gathered-writer.ts";
import { createLogTime } from "./log-time.ts";
import type { Redactor } from "./redactor.ts";

type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

type Fields = Readonly<Record<string, unknown>>;

/** Facts first, then what they are about. Never prompt text, never an answer. */
export interface Log {
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
  /** Writes what is still gathered, at once. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly redactor: Redactor;
  /** Where the lines go; writes of one turn of the event loop come as one. */
  readonly write: (text: string) => void;
  /** Short lines for a person instead of JSON. */
  readonly isPretty: boolean;
}

/** The one sink of log text: all of it passes the redactor here, in whole lines, as it will be written. */
export function createLog({ level, redactor, write, isPretty }: LogOptions): Log {
  const gathered: GatheredWriter = gatherWrites((lines) => {
    const safe = redactor.redact(escapeControls(lines));
    write(isPretty ? safe.replace(/.+\n/g, formatLine) : safe);
  });
  const logger: Logger = pino(
    {
      level,
      base: null,
      timestamp: createLogTime(),
      formatters: { level: (label) => ({ level: label }) },
    },
    gathered,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => gathered.flush(),
  };
}

/** JSON lets these stand as they are; a terminal would obey some, and others turn the text around (SEC-53). */
const CONTROLS = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const escapeControls = (line: string): string =>
  line.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
