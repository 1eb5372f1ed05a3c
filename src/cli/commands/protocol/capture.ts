import { Command } from "@commander-js/extra-typings";
import { wholeNumber } from "../../option-values.ts";

export const captureCommand = () =>
  new Command("capture")
    .description("Run a program and record what its Cursor, OpenAI and Anthropic clients say to their upstreams.")
    .argument("[command...]", "the program and its arguments, after --")
    .option("--out <file>", "a new file for the capture, instead of one in the home folder")
    .option("--max-size <mb>", "megabytes after which the capture ends (default: 256)", wholeNumber)
    .option("--listen", "run no program: print the addresses, and record until Ctrl-C", false)
    .option("--upstream <url>", "backend to use instead of Cursor's")
    .option("--with-key", "give Cursor's clients the gateway's key: your own models only", false)
    .option("--json", "print what was captured as JSON, on stderr", false)
    .addHelpText(
      "after",
      `
The capture has prompts, answers and files that the client sends. Only you can read it. Credentials in headers, and keys
and tokens of the gateway, are masked in it; whatever else looks like a secret is masked where a capture is shown, exported
or reported. Give away a report, not the file.

  excursor capture -- node my-agent.js
  excursor inspect FILE`,
    )
    .action(async (command, flags) => {
      const { runCapture } = await import("../../actions/protocol/capture.ts");
      process.exit(await runCapture(command, flags));
    });
