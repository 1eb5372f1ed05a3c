import { Command, Option } from "@commander-js/extra-typings";

export const logoutCommand = () =>
  new Command("logout")
    .description("Forget a login that is kept here. Logins of Cursor's own programs stay as they are.")
    .option("--account <name>", "which one, if there are several")
    .addOption(new Option("--all", "all of them").default(false).conflicts("account"))
    .action(async (flags) => {
      const { runLogout } = await import("./run-logout.ts");
      await runLogout(flags);
    });
