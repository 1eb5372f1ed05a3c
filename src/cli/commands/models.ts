import { Command } from "@commander-js/extra-typings";

export const modelsCommand = () =>
  new Command("models")
    .description("List the models that the gateway offers.")
    .option("--url <url>", "URL of a gateway elsewhere; it gets the key")
    .option("--key <key>", "API key of the gateway")
    .option("--demo", "use the built-in simulator instead of a running gateway", false)
    .option("--json", "print the JSON that clients get", false)
    .action(async (flags) => (await import("../actions/models.ts")).runModels(flags));
