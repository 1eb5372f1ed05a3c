import { Command } from "@commander-js/extra-typings";

export const updateCommand = () =>
  new Command("update")
    .description("Show how to update Excursor. It never looks for updates by itself.")
    .option("--check", "ask the npm registry for the newest version", false)
    .option("--json", "with --check: print JSON", false)
    .action(async (flags) => (await import("../../actions/install/update.ts")).runUpdate(flags));
