import { Command } from "@commander-js/extra-typings";

export const configCommand = () =>
  new Command("config")
    .description("Explain every setting: its value, where that came from, and how to change it.")
    .option("--json", "print JSON", false)
    .action(async ({ json }) => {
      const { showConfig } = await import("./show-config.ts");
      process.stdout.write(showConfig(json));
    });
