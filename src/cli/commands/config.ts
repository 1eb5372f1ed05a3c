import { Command } from "@commander-js/extra-typings";

export const configCommand = () =>
  new Command("config")
    .description("Show every setting: its value, its origin and its environment variable.")
    .option("--json", "print JSON", false)
    .action(async ({ json }) => {
      const { showConfig } = await import("../actions/config.ts");
      process.stdout.write(showConfig(json));
    });
