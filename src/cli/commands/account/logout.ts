import { Command, Option } from "@commander-js/extra-typings";

export const logoutCommand = () =>
  new Command("logout")
    .description("Delete a stored login. The logins of Cursor's own programs are not changed.")
    .option("--account <name>", "account to sign out, if there are several")
    .addOption(new Option("--all", "sign out all accounts").default(false).conflicts("account"))
    .action(async (flags) => (await import("../../actions/account/logout.ts")).runLogout(flags));
