import { Command } from "@commander-js/extra-typings";

export const modelsCommand = () =>
  new Command("models")
    .description("List the models of the account, as the gateway offers them.")
    .option("--url <url>", "the gateway, if not the one of the settings")
    .option("--key <key>", "its API key")
    .option("--demo", "ask the embedded simulator instead of a running gateway", false)
    .option("--json", "print the list as clients get it", false)
    .action(async (flags) => {
      const { runModels } = await import("./run-models.ts");
      await runModels(flags);
    });
