import { CommanderError } from "@commander-js/extra-typings";
import { ensureHome } from "./cli/ensure-home.ts";
import { createProgram } from "./cli/program.ts";
import { silenceSqliteWarning } from "./cli/silence-sqlite-warning.ts";
import { reportError } from "./cli/terminal/report-error.ts";

/** Runs the command line and sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  silenceSqliteWarning();
  process.stdout.on("error", onOutputError);
  process.stderr.on("error", () => {});
  // Node would print an uncaught error as it is, secrets included.
  process.on("uncaughtException", (error) => void reportError(error).then((code) => process.exit(code)));
  try {
    ensureHome(process.env);
    await createProgram().parseAsync(
      startsSetup(argv.slice(2)) ? [...argv.slice(0, 2), "setup", ...argv.slice(2)] : argv,
    );
  } catch (error) {
    // Commander has already printed its own errors.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else process.exitCode = await reportError(error);
  }
}

const SETUP_FLAGS = ["-y", "--yes", "--demo", "--no-answer", "--no-connect", "--no-service", "--no-ui"];

/** True for `excursor` alone on a terminal, and with nothing but flags of the setup. Else `excursor` alone prints help. */
const startsSetup = (args: readonly string[]): boolean =>
  args.length === 0
    ? process.stdin.isTTY === true && process.stderr.isTTY === true
    : args.every((arg) => SETUP_FLAGS.includes(arg));

/**
 * A reader that stops reading (`| head`) must not end the gateway. Any other failure, such as a full disk, must not look
 * like success: the output may have been a key that is shown only once.
 */
async function onOutputError(error: NodeJS.ErrnoException): Promise<void> {
  if (error.code === "EPIPE") return;
  process.exitCode = await reportError(error);
}
