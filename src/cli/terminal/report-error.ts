import { styleText } from "node:util";
import { ExcursorError } from "../../core/errors.ts";
import { printable } from "../../core/printable.ts";
import { asFileError } from "../../files/file-error.ts";
import { createRedactor } from "../../observe/redactor.ts";
import { exitCodeOf } from "../exit-codes.ts";

/** Prints the error and its hint to stderr. Returns the exit code. */
export async function reportError(thrown: unknown): Promise<number> {
  const error = asFileError(thrown) ?? ExcursorError.from(thrown);
  const label = styleText(["red", "bold"], "error", { stream: process.stderr });
  const lines = [error.message];
  if (error.hint !== undefined) lines.push(error.hint);
  if (error.kind === "internal" && error.cause instanceof Error) lines.push(error.cause.stack ?? error.cause.message);
  // Loaded on demand: all settings are behind it.
  const { secretsOf } = await import("../../app/secrets-of.ts");
  const redactor = createRedactor(secretsOf(await loadedConfig()));
  process.stderr.write(`${label}: ${redactor.redact(printable(lines.join("\n")))}\n`);
  return exitCodeOf(error.kind);
}

async function loadedConfig() {
  try {
    const { loadConfig } = await import("../../app/load-config.ts");
    return loadConfig({ flags: {}, environment: process.env });
  } catch {
    // The error may be about the settings.
    return undefined;
  }
}
