import { styleText } from "node:util";
import { givenSecrets } from "../../app/given-secrets.ts";
import { ExcursorError } from "../../core/errors.ts";
import { asFileError } from "../../files/file-error.ts";
import { createRedactor } from "../../observe/redactor.ts";
import { exitCodeOf } from "../exit-codes.ts";

/** Prints the error and its hint to stderr. Returns the exit code. */
export function reportError(thrown: unknown): number {
  const error = asFileError(thrown) ?? ExcursorError.from(thrown);
  const label = styleText(["red", "bold"], "error", { stream: process.stderr });
  const lines = [`${label}: ${error.message}`];
  if (error.hint !== undefined) lines.push(error.hint);
  if (error.kind === "internal" && error.cause instanceof Error) lines.push(error.cause.stack ?? error.cause.message);
  const redactor = createRedactor();
  for (const secret of givenSecrets()) redactor.add(secret);
  process.stderr.write(redactor.redact(`${lines.join("\n")}\n`));
  return exitCodeOf(error.kind);
}
