import { Command } from "@commander-js/extra-typings";

export const whoamiCommand = () =>
  new Command("whoami")
    .description("Show the account: plan, privacy mode, expiry of the login and remaining quota.")
    .option("--account <name>", "account to show, if there are several")
    .option("--upstream <url>", "backend to use instead of Cursor's")
    .option("--json", "print JSON", false)
    .action(async (flags) => (await import("../../actions/account/whoami.ts")).runWhoami(flags));
