import { Command } from "@commander-js/extra-typings";

export const whoamiCommand = () =>
  new Command("whoami")
    .description("Show the account: plan, privacy mode, how long the login lasts, what is left of the quota.")
    .option("--account <name>", "which one, if there are several")
    .option("--upstream <url>", "another backend origin")
    .option("--json", "print JSON", false)
    .action(async (flags) => {
      const { runWhoami } = await import("./run-whoami.ts");
      await runWhoami(flags);
    });
