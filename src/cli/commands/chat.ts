import { Command } from "@commander-js/extra-typings";

export const chatCommand = () =>
  new Command("chat")
    .description("Ask a model and stream its answer.")
    .argument("[prompt...]", "the question; without it, or with -, it is read from stdin")
    .option("-m, --model <model>", "model to ask; `excursor models` lists them", "auto")
    .option("-s, --system <text>", "system prompt")
    .option("--effort <level>", "reasoning effort, such as low, medium or high")
    .option("--tools", "offer the model two harmless demo tools, current_time and roll_dice", false)
    .option("--url <url>", "URL of a gateway elsewhere; it gets the key")
    .option("--key <key>", "API key of the gateway")
    .option("--demo", "use the built-in simulator instead of a running gateway", false)
    .addHelpText(
      "after",
      `
The answer goes to stdout and tool calls go to stderr. Thinking is shown (dimmed) only on a terminal.
  excursor chat --demo "@sim think let me see ;; say hello"
  excursor chat --demo --tools '@sim call roll_dice {"sides":20} ;; say You rolled {{result}}.'
  git diff | excursor chat -s "Review this diff" -`,
    )
    .action(async (words, flags) => (await import("../actions/chat.ts")).runChat(words.join(" "), flags));
