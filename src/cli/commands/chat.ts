import { Command } from "@commander-js/extra-typings";

export const chatCommand = () =>
  new Command("chat")
    .description("Ask a model and watch the answer come.")
    .argument("[prompt...]", "what to ask; without it, or with -, it is read from stdin")
    .option("-m, --model <model>", "which model; `excursor models` lists them", "auto")
    .option("-s, --system <text>", "instructions for the model")
    .option("--effort <level>", "how hard it shall think")
    .option("--tools", "offer the model two harmless tools, current_time and roll_dice, and run them", false)
    .option("--url <url>", "the gateway, if not the one of the settings")
    .option("--key <key>", "its API key")
    .option("--demo", "let the embedded simulator answer instead of a running gateway", false)
    .addHelpText(
      "after",
      `
The answer goes to stdout, thinking (dimmed) to the terminal only, calls of tools to stderr.
  excursor chat --demo "@sim think let me see ;; say hello"
  excursor chat --demo --tools '@sim call roll_dice {"sides":20} ;; say You rolled {{result}}.'
  git diff | excursor chat -s "Review this diff" -`,
    )
    .action(async (words, flags) => {
      const { runChat } = await import("./run-chat.ts");
      await runChat(words.join(" "), flags);
    });
