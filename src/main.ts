import { CommanderError } from "@commander-js/extra-typings";
import { createProgram } from "./cli/program.ts";
import { silenceSqliteWarning } from "./cli/silence-sqlite-warning.ts";
import { reportError } from "./cli/terminal/report-error.ts";
import { tuneHeap } from "./cli/tune-heap.ts";

/** Runs the command line and sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  tuneHeap();
  silenceSqliteWarning();
  // A reader that stops reading (`| head`) must not end the gateway.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  // Node would print an uncaught error as it is, secrets included.
  process.on("uncaughtException", (error) => process.exit(reportError(error)));
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    // Commander has already printed its own errors.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else process.exitCode = reportError(error);
  }
}
