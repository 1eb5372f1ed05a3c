import { Command } from "@commander-js/extra-typings";

export const reportCommand = () =>
  new Command("report")
    .description("Make one archive for a bug report, without secrets. Shows what is in it before it writes.")
    .option("--request <id>", "add the usage rows and log lines of this request, instead of the last capture")
    .option("--capture <file>", "add this capture, instead of the newest one in the home folder")
    .option("--no-capture", "add no capture: it holds prompts and answers")
    .option("--no-content", "keep only the length of prompts and texts in the capture")
    .option("--log <file>", "take log lines from this file, instead of from the running gateway")
    .option("--out <file>", "a new file, instead of excursor-report-TIME.tar.gz in this folder")
    .option("--yes", "write without asking", false)
    .option("--json", "print what was written as JSON", false)
    .addHelpText(
      "after",
      `
The archive has the versions, the settings without secrets, the findings of the doctor, log lines and the last capture.
Tokens, keys, e-mail addresses and the path of your home folder are masked. Prompts and answers are only in the capture,
which leaves them out with --no-content.
Nothing is sent anywhere: attach the file yourself.`,
    )
    .action(async ({ capture = true, ...flags }) => {
      const { runReport } = await import("../../actions/protocol/report.ts");
      process.exitCode = await runReport({ ...flags, capture });
    });
