import { Command, Option } from "@commander-js/extra-typings";
import { wholeNumber } from "../../option-values.ts";

export const inspectCommand = () =>
  new Command("inspect")
    .description("Show what is in a capture: its calls, or the messages of one call.")
    .argument("<file>", "a file that `excursor capture` or `excursor serve --capture` has written")
    .option(
      "--call <n>",
      "show the messages of this call as a timeline, over HTTP/1.1 those of its whole run",
      wholeNumber,
    )
    .option("--messages", "with --call: show the content of each message, too", false)
    .option("--conversation <id>", "only calls of this conversation")
    .option("--rpc <text>", "only calls whose path has this text")
    .addOption(
      new Option("--direction <way>", "only messages that the client sent or received").choices([
        "sent",
        "received",
      ] as const),
    )
    .option("--kind <text>", "only messages whose kind has this text, such as text_delta")
    .option("--follow", "keep reading while the capture is written, and print a line for each message", false)
    .addOption(new Option("--json", "print JSON").default(false).conflicts(["jsonl", "har", "follow"]))
    .addOption(new Option("--jsonl", "print a line of JSON for each message").default(false).conflicts("har"))
    .addOption(
      new Option("--har <file>", "write a new HAR 1.2 file, with the messages in _connectMessages").conflicts("follow"),
    )
    .action(async (file, flags) => (await import("../../actions/protocol/inspect.ts")).runInspect(file, flags));
