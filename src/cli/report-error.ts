import { styleText } from "node:util";
import { ExcursorError } from "../core/errors.ts";

/** Tells a person on stderr what went wrong and what to do; returns the exit code that goes with it. */
export function reportError(thrown: unknown): number {
  const error = ExcursorError.from(thrown);
  const label = styleText(["red", "bold"], "error", { stream: process.stderr });
  process.stderr.write(`${label}: ${error.message}\n`);
  if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
  if (error.kind === "internal" && error.cause instanceof Error) process.stderr.write(`${error.cause.stack}\n`);
  return error.outlets.exit;
}
