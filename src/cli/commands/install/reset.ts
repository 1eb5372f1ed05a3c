import { Command } from "@commander-js/extra-typings";

export const resetCommand = () =>
  new Command("reset")
    .description(
      "Undo everything that Excursor did on this machine: IDE patch, service, clients, logins, settings, state.",
    )
    .option("-y, --yes", "do not ask", false)
    .option("--dry-run", "only list what would be removed", false)
    .option("--force", "go on if Cursor cannot be restored", false)
    .option("--json", "print the list as JSON", false)
    .addHelpText(
      "after",
      `
It lists everything first, and what is left to you. The program itself stays: npm uninstall -g excursor removes it.`,
    )
    .action(async (flags) => (await import("../../actions/install/reset.ts")).runReset(flags));
