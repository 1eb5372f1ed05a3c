import { Command, Option } from "@commander-js/extra-typings";
import { wholeNumber } from "../../option-values.ts";

export const replayCommand = () =>
  new Command("replay")
    .description("Send the calls of a recorded client to a backend, and compare what comes with what was recorded.")
    .argument("<file>", "a file that `excursor capture` or `excursor serve --capture` has written")
    .requiredOption("--to <url>", "the backend, such as http://127.0.0.1:8765")
    .option("--account <name>", "signed-in account whose token signs the calls")
    .addOption(
      new Option("--token-from <variable>", "environment variable with the token that signs the calls").conflicts(
        "account",
      ),
    )
    .option("--paced", "keep the pauses of the recorded client", false)
    .option("--timeout <s>", "seconds without a message after which a call is over", wholeNumber, 60)
    .option("--all", "also send calls and headers that are not known to be harmless, after a question", false)
    .option("--yes", "ask nothing, and send to any backend", false)
    .option("--json", "print JSON", false)
    .addHelpText(
      "after",
      `
Runs and known reads are sent, with known headers. A capture that somebody else made may hold other calls, such as those that
delete an account.
Tokens are masked in a capture, so --account or --token-from gives the one to use. Calls to the backend's models count
against the quota of that account.
Ids, times, numbers and the places where a text is cut may differ. Exit code: 0 if nothing else does, 1 if something does.

  excursor replay bug.capture --to http://127.0.0.1:8765 --token-from MY_TOKEN`,
    )
    .action(async (file, flags) => {
      const { runReplay } = await import("../../actions/protocol/replay.ts");
      process.exitCode = await runReplay(file, flags);
    });
